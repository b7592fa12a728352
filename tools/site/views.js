// What an account stores and what was sent to it, as tables.
export const made = (name, options = {}, ...children) => {
  const element = Object.assign(document.createElement(name), options);
  element.append(...children);
  return element;
};

const scrolling = (table) => made("div", { className: "table-wrapper" }, table);

export function tableOf(className, caption, heads, rows) {
  const head = made("tr", {}, ...heads.map((text) => made("th", { textContent: text, scope: "col" })));
  return scrolling(made("table", { className: `docutils ${className}` },
    made("caption", { textContent: caption }), made("thead", {}, head), made("tbody", {}, ...rows)));
}

export function requestsOf(step) {
  const rows = step.requests.map((each) => made("tr", {}, ...["line", "operation", "on", "class", "cost"].map(
    (name) => made("td", { textContent: each[name], className: name === "class" && each.scan ? "tp-scan" : "" }))));
  const more = step.count > rows.length ? `, the first ${rows.length} shown` : "";
  const caption = `${step.count} ${step.count === 1 ? "request" : "requests"}: ${step.cost}${more}`;
  return tableOf("tp-requests", caption, ["Line", "Request", "On", "Class", "Costs"], rows);
}

// Rows in key order: the rows of a partition are one band, and each kind of row has its color
export function storedIn(table, kinds) {
  let partition, band = false;
  const rows = table.rows.map((row) => {
    const first = row.partition !== partition;
    if (first) band = !band;
    partition = row.partition;
    const kind = row.kind === null ? "" : `tp-kind${kinds.indexOf(row.kind) % 5}`;
    return made("tr", { className: `${band ? "tp-band" : ""} ${first ? "tp-first" : ""} ${row.isNew ? "tp-new" : ""}` },
      made("td", { textContent: first ? row.partition : "" }),
      made("td", { textContent: row.key, className: kind, title: row.kind ?? "" }),
      made("td", { textContent: row.properties }));
  });
  const more = table.count > rows.length ? `, the first ${rows.length} shown` : "";
  const heads = table.isTable ? ["PartitionKey", "RowKey", "Properties"] : ["", "Name", "Content"];
  return tableOf("tp-rows", `${table.name}: ${table.count} ${table.unit}${more}`, heads, rows);
}
