// Calls each operation on tables, queues and blobs that Azure's SDK for Go has in its package storage.
//
// Usage: azure_storage ACCOUNT KEY SERVICE HOST:PORT, with the service "table", "queue" or "blob".
package main

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"reflect"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/storage"
)

const timeout = 30

var soon = time.Now().UTC().Add(time.Hour).Truncate(time.Second)

func main() {
	account, key, service, address := os.Args[1], os.Args[2], os.Args[3], os.Args[4]
	client, err := storage.NewClient(account, key, storage.DefaultBaseURL, storage.DefaultAPIVersion, false)
	check(err)
	// The SDK puts the account into the host, so connections to any host go to the server
	dial := func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, address)
	}
	client.HTTPClient = &http.Client{Transport: &http.Transport{DialContext: dial}}
	client.Sender = &storage.DefaultSender{RetryAttempts: 1}
	map[string]func(storage.Client){"table": useTables, "queue": useQueues, "blob": useBlobs}[service](client)
	fmt.Println("passed")
}

func useTables(client storage.Client) {
	service := client.GetTableService()
	table := service.GetTableReference("Employees")
	check(table.Create(timeout, storage.FullMetadata, nil))
	expect(code(table.Create(timeout, storage.EmptyPayload, nil)), "TableAlreadyExists")
	check(table.Get(timeout, storage.FullMetadata))
	tables, err := service.QueryTables(storage.MinimalMetadata, nil)
	check(err)
	expect(tables.Tables[0].Name, "Employees")

	born := time.Date(1970, 10, 4, 1, 2, 3, 0, time.UTC)
	properties := map[string]interface{}{
		"Name": "O'Neil \u00f6", "Born": born, "Age": 34.5, "Active": true, "Photo": []byte{0, 255},
	}
	entity := table.GetEntityReference("Sales", "000223")
	entity.Properties = properties
	check(entity.Insert(storage.FullMetadata, nil))
	expect(code(entity.Insert(storage.EmptyPayload, nil)), "EntityAlreadyExists")
	stored := table.GetEntityReference("Sales", "000223")
	check(stored.Get(timeout, storage.FullMetadata, nil))
	expect(stored.Properties, properties)

	stale := table.GetEntityReference("Sales", "000223")
	stale.OdataEtag = stored.OdataEtag
	stored.Properties = map[string]interface{}{"Age": 35.5}
	check(stored.Merge(false, nil))
	expect(strings.HasPrefix(code(stale.Update(false, nil)), "Etag didn't match"), true)
	check(stored.Get(timeout, storage.FullMetadata, &storage.GetEntityOptions{Select: []string{"Age"}}))
	expect(stored.Properties, map[string]interface{}{"Age": 35.5})
	check(stored.Update(true, nil))
	check(stored.InsertOrReplace(nil))
	check(stored.InsertOrMerge(nil))

	batch := table.NewBatch()
	for _, key := range []string{"1", "2", "3"} {
		batch.InsertEntity(newEntity(table, key))
	}
	check(batch.ExecuteBatch())
	batch = table.NewBatch()
	batch.InsertOrMergeEntityByForce(newEntity(table, "1"))
	batch.InsertOrReplaceEntityByForce(newEntity(table, "2"))
	batch.DeleteEntityByForce(newEntity(table, "3"), true)
	batch.InsertEntity(newEntity(table, "4"))
	check(batch.ExecuteBatch())
	batch = table.NewBatch()
	batch.InsertEntity(newEntity(table, "5"))
	batch.InsertEntity(newEntity(table, "4"))
	expect(batch.ExecuteBatch() != nil, true)

	options := &storage.QueryOptions{Top: 2, Filter: "PartitionKey eq 'Sales' and RowKey lt '5'", Select: []string{"RowKey"}}
	page, err := table.QueryEntities(timeout, storage.NoMetadata, options)
	check(err)
	keys := rowKeys(page)
	for page.NextLink != nil {
		page, err = page.NextResults(nil)
		check(err)
		keys = append(keys, rowKeys(page)...)
	}
	expect(keys, []string{"000223", "1", "2", "4"})

	policies := []storage.TableAccessPolicy{{ID: "readers", StartTime: born, ExpiryTime: soon, CanRead: true}}
	check(table.SetPermissions(policies, timeout, nil))
	permissions, err := table.GetPermissions(timeout, nil)
	check(err)
	expect(permissions, policies)
	useProperties(service.SetServiceProperties, service.GetServiceProperties)
	check(entity.Delete(true, nil))
	expect(code(entity.Delete(true, nil)), "ResourceNotFound")
	check(table.Delete(timeout, nil))
	expect(code(table.Delete(timeout, nil)), "ResourceNotFound")
}

func newEntity(table *storage.Table, key string) *storage.Entity {
	entity := table.GetEntityReference("Sales", key)
	entity.Properties = map[string]interface{}{"Name": key}
	return entity
}

func rowKeys(page *storage.EntityQueryResult) (keys []string) {
	for _, entity := range page.Entities {
		keys = append(keys, entity.RowKey)
	}
	return keys
}

func useQueues(client storage.Client) {
	service := client.GetQueueService()
	queue := service.GetQueueReference("orders")
	exists, err := queue.Exists()
	check(err)
	expect(exists, false)
	queue.Metadata = map[string]string{"team": "sales"}
	check(queue.Create(nil))
	queue.Metadata = map[string]string{"team": "it"}
	check(queue.SetMetadata(nil))
	check(queue.GetMessageReference("one <&> \u00f6").Put(nil))
	check(queue.GetMessageReference("two").Put(&storage.PutMessageOptions{MessageTTL: 60, VisibilityTimeout: 30}))
	check(queue.GetMetadata(nil))
	expect(queue.Metadata, map[string]string{"team": "it"})
	expect(queue.AproxMessageCount, uint64(2))

	peeked, err := queue.PeekMessages(&storage.PeekMessagesOptions{NumOfMessages: 32})
	check(err)
	expect(len(peeked), 1)
	received, err := queue.GetMessages(&storage.GetMessagesOptions{NumOfMessages: 32, VisibilityTimeout: 60})
	check(err)
	expect([]interface{}{len(received), received[0].Text, received[0].DequeueCount}, []interface{}{1, "one <&> \u00f6", 1})
	message := received[0]
	message.Text = "changed"
	check(message.Update(&storage.UpdateMessageOptions{VisibilityTimeout: 1}))
	expect(code(received[0].Delete(nil)), "PopReceiptMismatch")
	check(message.Delete(nil))
	check(queue.ClearMessages(nil))

	policies := storage.QueuePermissions{AccessPolicies: []storage.QueueAccessPolicy{
		{ID: "workers", StartTime: soon, ExpiryTime: soon.Add(time.Hour), CanRead: true, CanProcess: true},
	}}
	check(queue.SetPermissions(policies, nil))
	permissions, err := queue.GetPermissions(nil)
	check(err)
	expect(*permissions, policies)
	useProperties(service.SetServiceProperties, service.GetServiceProperties)
	check(queue.Delete(nil))
	expect(code(queue.GetMetadata(nil)), "QueueNotFound")
}

func useBlobs(client storage.Client) {
	service := client.GetBlobService()
	container := service.GetContainerReference("photos")
	created, err := container.CreateIfNotExists(&storage.CreateContainerOptions{Access: storage.ContainerAccessTypeBlob})
	check(err)
	expect(created, true)
	container.Metadata = map[string]string{"team": "sales"}
	check(container.SetMetadata(nil))
	check(container.GetMetadata(nil))
	expect(container.Metadata["team"], "sales")
	check(container.GetProperties())
	policies := storage.ContainerPermissions{
		AccessType:     storage.ContainerAccessTypeContainer,
		AccessPolicies: []storage.ContainerAccessPolicy{{ID: "readers", StartTime: soon, ExpiryTime: soon.Add(time.Hour), CanRead: true}},
	}
	check(container.SetPermissions(policies, nil))
	permissions, err := container.GetPermissions(nil)
	check(err)
	expect(*permissions, policies)
	containers, err := service.ListContainers(storage.ListContainersParameters{Prefix: "photos"})
	check(err)
	expect(containers.Containers[0].Name, "photos")

	useBlockBlobs(client, container)
	log := container.GetBlobReference("log")
	check(log.PutAppendBlob(nil))
	check(log.AppendBlock([]byte("one,"), nil))
	check(log.AppendBlock([]byte("two"), nil))
	expect(content(log.Get(nil)), "one,two")

	useProperties(service.SetServiceProperties, service.GetServiceProperties)
	deleted, err := container.DeleteIfExists(nil)
	check(err)
	expect(deleted, true)
	exists, err := container.Exists()
	check(err)
	expect(exists, false)
}

func useBlockBlobs(client storage.Client, container *storage.Container) {
	blob := container.GetBlobReference("2022/don \u00f6.jpg")
	check(blob.CreateBlockBlobFromReader(strings.NewReader("content"), nil))
	part, err := blob.GetRange(&storage.GetBlobRangeOptions{Range: &storage.BlobRange{Start: 3, End: 5}})
	expect(content(part, err), "ten")
	blob.Properties.ContentType = "image/jpeg"
	check(blob.SetProperties(nil))
	blob.Metadata = map[string]string{"owner": "don"}
	check(blob.SetMetadata(nil))
	check(blob.GetMetadata(nil))
	expect(blob.Metadata["owner"], "don")
	check(blob.GetProperties(nil))
	expect([]interface{}{blob.Properties.ContentType, blob.Properties.ContentLength}, []interface{}{"image/jpeg", int64(7)})
	taken, err := blob.CreateSnapshot(nil)
	check(err)

	first, second := blockID("1"), blockID("2")
	check(blob.PutBlock(first, []byte("one,"), nil))
	check(blob.PutBlockWithLength(second, 3, strings.NewReader("two"), nil))
	check(blob.PutBlockList([]storage.Block{{ID: first, Status: "Latest"}, {ID: second, Status: "Latest"}}, nil))
	blocks, err := blob.GetBlockList(storage.BlockListTypeAll, nil)
	check(err)
	expect(len(blocks.CommittedBlocks), 2)
	expect(content(blob.Get(nil)), "one,two")
	expect(content(blob.Get(&storage.GetBlobOptions{Snapshot: taken})), "content")

	copied := container.GetBlobReference("copy")
	check(copied.Copy(blob.GetURL(), nil))
	expect(content(copied.Get(nil)), "one,two")
	check(copied.PutBlockFromURL(first, signed(client, blob), 0, 3, nil))
	check(copied.PutBlockList([]storage.Block{{ID: first, Status: "Uncommitted"}}, nil))
	expect(content(copied.Get(nil)), "one")

	id, err := blob.AcquireLease(15, "", nil)
	check(err)
	expect(code(blob.SetMetadata(nil)), "LeaseIdMissing")
	check(blob.RenewLease(id, nil))
	changed, err := blob.ChangeLease(id, "f7b26a7d-3013-43c4-84df-907cf4088f2d", nil)
	check(err)
	check(blob.SetMetadata(&storage.SetBlobMetadataOptions{LeaseID: changed}))
	_, err = blob.BreakLeaseWithBreakPeriod(0, nil)
	check(err)
	check(blob.ReleaseLease(changed, nil))

	parameters := storage.ListBlobsParameters{Delimiter: "/", Include: &storage.IncludeBlobDataset{Metadata: true}}
	list, err := container.ListBlobs(parameters)
	check(err)
	expect([]interface{}{list.BlobPrefixes, len(list.Blobs)}, []interface{}{[]string{"2022/"}, 1})
	list, err = container.ListBlobs(storage.ListBlobsParameters{Include: &storage.IncludeBlobDataset{Snapshots: true}})
	check(err)
	expect(len(list.Blobs), 3)
	expect(code(blob.Delete(nil)), "SnapshotsPresent")
	include := true
	check(blob.Delete(&storage.DeleteBlobOptions{DeleteSnapshots: &include}))
	deleted, err := blob.DeleteIfExists(nil)
	check(err)
	expect(deleted, false)
}

func signed(client storage.Client, blob *storage.Blob) string {
	options := storage.BlobSASOptions{BlobServiceSASPermissions: storage.BlobServiceSASPermissions{Read: true}}
	options.Expiry = soon
	uri, err := blob.GetSASURI(options)
	check(err)
	return uri
}

func useProperties(set func(storage.ServiceProperties) error, get func() (*storage.ServiceProperties, error)) {
	days := 7
	check(set(storage.ServiceProperties{
		Logging: &storage.Logging{
			Version: "1.0", Read: true, RetentionPolicy: &storage.RetentionPolicy{Enabled: true, Days: &days},
		},
		Cors: &storage.Cors{CorsRule: []storage.CorsRule{
			{AllowedOrigins: "*", AllowedMethods: "GET", AllowedHeaders: "x-ms-*", ExposedHeaders: "*", MaxAgeInSeconds: 60},
		}},
	}))
	properties, err := get()
	check(err)
	expect([]interface{}{properties.Logging.Read, *properties.Logging.RetentionPolicy.Days}, []interface{}{true, 7})
	expect(properties.Cors.CorsRule[0].AllowedHeaders, "x-ms-*")
}

func blockID(text string) string {
	return base64.StdEncoding.EncodeToString([]byte(text))
}

func content(body io.ReadCloser, err error) string {
	check(err)
	defer body.Close()
	read, err := io.ReadAll(body)
	check(err)
	return string(read)
}

func code(err error) string {
	if rejected, ok := err.(storage.AzureStorageServiceError); ok {
		return rejected.Code
	}
	return fmt.Sprint(err)
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func expect(found, wanted interface{}) {
	if !reflect.DeepEqual(found, wanted) {
		panic(fmt.Sprintf("%#v instead of %#v", found, wanted))
	}
}
