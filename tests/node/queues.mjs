// Works on queues with the SDK for Node, and prints what it saw as JSON.
import { QueueServiceClient } from "@azure/storage-queue";

const [connection] = process.argv.slice(2);
const service = QueueServiceClient.fromConnectionString(connection);
const queue = service.getQueueClient("orders");
const seen = {};

seen.created = (await queue.create({ metadata: { Team: "Sales" } }))._response.status;
seen.again = (await queue.createIfNotExists({ metadata: { Team: "Sales" } })).succeeded;
seen.queues = [];
for await (const each of service.listQueues({ includeMetadata: true })) seen.queues.push([each.name, each.metadata]);

await queue.sendMessage("<first> & 'Jörg' 🚲");
await queue.sendMessage("second", { visibilityTimeout: 3600 });
seen.peeked = (await queue.peekMessages({ numberOfMessages: 32 })).peekedMessageItems.map((each) => each.messageText);
const [first] = (await queue.receiveMessages()).receivedMessageItems;
seen.received = [first.messageText, first.dequeueCount];
const updated = await queue.updateMessage(first.messageId, first.popReceipt, "changed", 0);
seen.stale = await queue.deleteMessage(first.messageId, first.popReceipt).catch((error) => [error.statusCode, error.code]);
await queue.deleteMessage(first.messageId, updated.popReceipt);
seen.count = (await queue.getProperties()).approximateMessagesCount;
await queue.clearMessages();
seen.missing = await service.getQueueClient("nowhere").getProperties().catch((error) => [error.statusCode, error.code]);
await queue.delete();
seen.exists = await queue.exists();
console.log(JSON.stringify(seen));
