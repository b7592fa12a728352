// Works on tables with the SDK for Node, and prints what it saw as JSON.
import { TableClient, TableServiceClient, TableTransaction, odata } from "@azure/data-tables";

const [connection] = process.argv.slice(2);
const options = { allowInsecureConnection: true };
const service = TableServiceClient.fromConnectionString(connection, options);
const table = TableClient.fromConnectionString(connection, "Employees", options);
const seen = {};

async function all(pages) {
  const found = [];
  for await (const item of pages) found.push(item);
  return found;
}

async function refusal(promise) {
  try {
    await promise;
    return null;
  } catch (error) {
    return [error.statusCode, error.details?.odataError?.code ?? error.code];
  }
}

await service.createTable("Employees");
seen.tables = (await all(service.listTables())).map((each) => each.name);

seen.slash = await refusal(table.createEntity({ partitionKey: "Sales", rowKey: "a/b" }));

const don = {
  partitionKey: "Sales",
  rowKey: "it's 50%",
  Name: "Jörg 🚲",
  Age: 34,
  Pay: { type: "Int64", value: "9007199254740993" },
  Rate: { type: "Double", value: 1.5 },
  Hired: new Date("2014-08-22T00:00:00.000Z"),
  Badge: { type: "Guid", value: "c9da6455-213d-42c9-9a79-3e9149a57833" },
  Photo: new Uint8Array([0, 255]),
  Active: true,
};
await table.createEntity(don);
const { etag, timestamp, "odata.metadata": metadata, ...entity } = await table.getEntity(don.partitionKey, don.rowKey);
seen.entity = { ...entity, Pay: String(entity.Pay.value ?? entity.Pay), Photo: [...entity.Photo] };

await table.updateEntity({ partitionKey: "Sales", rowKey: "it's 50%", Age: 35 }, "Merge", { etag });
seen.stale = await refusal(table.updateEntity({ ...don, Age: 36 }, "Replace", { etag }));
seen.twice = await refusal(table.createEntity(don));
seen.missing = await refusal(table.getEntity("Sales", "nobody"));

const transaction = new TableTransaction();
for (let number = 0; number < 100; number++)
  transaction.createEntity({ partitionKey: "Batch", rowKey: String(number).padStart(4, "0"), Number: number });
const done = await table.submitTransaction(transaction.actions);
seen.transaction = [done.status, done.subResponses.length, done.subResponses[99].status];
seen.undone = await refusal(
  table.submitTransaction([
    ["create", { partitionKey: "Batch", rowKey: "new" }],
    ["create", { partitionKey: "Batch", rowKey: "0007" }],
  ]),
);

const filter = odata`PartitionKey eq ${"Batch"} and Number ge ${97}`;
seen.query = (await all(table.listEntities({ queryOptions: { filter, select: ["Number"] } }))).map((each) => each.Number);
const pages = await all(table.listEntities({ queryOptions: { filter: "PartitionKey eq 'Batch'" } }).byPage({ maxPageSize: 40 }));
seen.pages = pages.map((page) => page.length);

await table.setAccessPolicy([{ id: "readers", accessPolicy: { start: new Date(0), expiry: new Date(4e12), permission: "r" } }]);
seen.policies = (await table.getAccessPolicy()).map((each) => [each.id, each.accessPolicy.permission]);
const { logging } = await service.getProperties();
seen.logging = logging.version;

await table.deleteEntity("Sales", "it's 50%");
await service.deleteTable("Employees");
seen.left = (await all(service.listTables())).length;
console.log(JSON.stringify(seen));
