// Works on blobs with the SDK for Node, and prints what it saw as JSON.
import { BlobServiceClient } from "@azure/storage-blob";
import { Readable } from "node:stream";

const [connection] = process.argv.slice(2);
const service = BlobServiceClient.fromConnectionString(connection);
const container = service.getContainerClient("photos");
const seen = {};
const refusal = (error) => [error.statusCode, error.code ?? error.details?.errorCode];

await container.create();
const small = container.getBlockBlobClient("2014/don's photo.txt");
await small.upload("Jörg 🚲", 9, { metadata: { team: "Sales" }, blobHTTPHeaders: { blobContentType: "text/plain" } });
const read = await small.getProperties();
seen.read = [(await small.downloadToBuffer()).toString(), read.contentType, read.metadata];

const size = 9 * 1024 * 1024 + 1;
const large = container.getBlockBlobClient("2014/large");
await large.uploadStream(Readable.from([Buffer.alloc(size, "a")]), 4 * 1024 * 1024, 2);
const properties = await large.getProperties();
const whole = await large.downloadToBuffer();
seen.large = [properties.contentLength, whole.length, whole.equals(Buffer.alloc(size, "a"))];
seen.blocks = (await large.getBlockList("committed")).committedBlocks.length;
seen.range = (await large.downloadToBuffer(size - 3, 3)).toString();

seen.listed = [];
for await (const each of container.listBlobsByHierarchy("/", { prefix: "2014/" })) seen.listed.push(each.name);
seen.stale = await small.upload("x", 1, { conditions: { ifMatch: properties.etag } }).catch(refusal);
seen.twice = await small.upload("x", 1, { conditions: { ifNoneMatch: "*" } }).catch(refusal);
const lease = small.getBlobLeaseClient();
await lease.acquireLease(15);
seen.leased = await small.delete().catch(refusal);
await lease.releaseLease();
await small.delete();
seen.missing = await small.getProperties().catch(refusal);
const log = container.getAppendBlobClient("log");
await log.create();
await log.appendBlock("one ", 4);
seen.offset = (await log.appendBlock("two", 3)).blobAppendOffset;
seen.log = (await log.downloadToBuffer()).toString();
const many = ["a", "b", "c"].map((name) => container.getBlockBlobClient(name));
for (const blob of many) await blob.upload("x", 1);
const statuses = (answer) => answer.subResponses.map((each) => each.status);
const batch = service.getBlobBatchClient();
seen.tiers = statuses(await batch.setBlobsAccessTier(many.slice(0, 2), "Cool"));
seen.tier = (await many[0].getProperties()).accessTier;
seen.deleted = statuses(await batch.deleteBlobs(many));
seen.deletedTwice = statuses(await container.getBlobBatchClient().deleteBlobs(many.slice(0, 2)));
await container.delete();
seen.exists = await container.exists();
console.log(JSON.stringify(seen));
