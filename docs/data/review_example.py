from tablepatterns import EntitySet, IntraPartitionIndex, Key, connect
from tablepatterns_review import Design, Field, Query, Shape, Write, declare_set

by_email = IntraPartitionIndex(Key("{Department}", "email_{Email}"))
employees = EntitySet(connect(), "Employees", Key("{Department}", "empid_{EmployeeId:06d}"), derived=[by_email])
fields = {
    "Department": Field(size=10, distinct=12, skew=0.7),
    "EmployeeId": Field("int32"),
    "Email": Field(size=24),
    "Age": Field("int32", distinct=50),
}
design = Design(
    "Staff",
    (
        declare_set(
            employees,
            shape=Shape("Employees", 20_000, fields, growth=5_000),
            queries=[
                Query("employee by e-mail", {"Department": "=", "Email": "="}, rate=40, peak=90),
                Query("employees by age", {"Department": "=", "Age": "="}, rate=0.5),
            ],
            writes=[Write("hire", "insert", rate=0.0002)],
        ),
    ),
)
