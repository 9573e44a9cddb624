"""Every operation of the three services, once or more, as requests of a Wire.

Each function does all of its service's, in an order in which each can succeed, and is followed by
some that fail.  operations_test compares the names with those of the server's own tables.
"""

import base64
import hashlib
import re

from server import ACCOUNT

BATCH = "batch_36522ad7"
ACL = (b'<?xml version="1.0" encoding="utf-8"?><SignedIdentifiers />')
LEASE = "11111111-2222-3333-4444-555555555555"
OTHER_LEASE = "66666666-7777-8888-9999-000000000000"


def batch(table):
    lines = [f"--{BATCH}", "Content-Type: multipart/mixed; boundary=changeset_1", "",
             "--changeset_1", "Content-Type: application/http",
             "Content-Transfer-Encoding: binary", "",
             f"POST /{ACCOUNT}/{table} HTTP/1.1", "Content-Type: application/json",
             "Accept: application/json;odata=nometadata", "",
             '{"PartitionKey":"batch","RowKey":"1"}', "--changeset_1--", f"--{BATCH}--", ""]
    return "\r\n".join(lines).encode()


def table(wire, properties):
    key = "(PartitionKey='it''s%20%22%26%3B',RowKey='r%C3%A9sum%C3%A9')"
    keys = {"PartitionKey": "it's \"&;", "RowKey": "résumé"}
    service = "/?restype=service&comp=properties"
    wire.ask("SetTableServiceProperties", "PUT", service, properties)
    wire.ask("GetTableServiceProperties", "GET", service)
    wire.ask("GetTableServiceStats", "GET", "/?restype=service&comp=stats",
             account=ACCOUNT + "-secondary")
    wire.ask("CreateTable", "POST", "/Tables", {"TableName": "People"})
    wire.ask("QueryTables", "GET", "/Tables?$top=5")
    wire.ask("QueryTable", "GET", "/Tables('People')")
    wire.ask("SetTableACL", "PUT", "/People?comp=acl", ACL)
    wire.ask("GetTableACL", "GET", "/People?comp=acl")
    inserted = wire.ask("InsertEntity", "POST", "/People", {**keys, "Age": 30})
    wire.ask("QueryEntity", "GET", "/People" + key)
    wire.ask("QueryEntities", "GET", "/People()?$filter=Age%20gt%2020%20and%20Age%20lt%2099")
    wire.ask("UpdateEntity", "PUT", "/People" + key, {"Age": 31}, If_Match=inserted.reply["etag"])
    wire.ask("MergeEntity", "PATCH", "/People" + key, {"City": "Ulm"}, If_Match="*")
    wire.ask("MergeEntity", "MERGE", "/People" + key, {"City": "Ulm"}, If_Match="*")
    wire.ask("InsertOrReplaceEntity", "PUT", "/People" + key, {"Age": 32})
    wire.ask("InsertOrMergeEntity", "PATCH", "/People" + key, {"Age": 33})
    wire.ask("EntityGroupTransaction", "POST", "/$batch", batch("People"),
             Content_Type=f"multipart/mixed; boundary={BATCH}")
    wire.ask("TablePreflightRequest", "OPTIONS", "/People", auth="none", Origin="http://a.example",
             Access_Control_Request_Method="GET")
    # Some that fail.
    wire.ask("InsertEntity", "POST", "/People", {**keys, "Age": 30})
    wire.ask("InsertEntity", "POST", "/People", {**keys, "Age": 30}, version="2015-12-11")
    wire.ask("UpdateEntity", "PUT", "/People" + key, {"Age": 31},
             If_Match="W/\"datetime'2001-02-03T04%3A05%3A06.789Z'\"")
    wire.ask("QueryEntity", "GET", "/People(PartitionKey='no',RowKey='no')")
    wire.ask("QueryEntity", "GET", "/People(PartitionKey='no',RowKey='no')", auth="wrong")
    wire.ask("QueryEntities", "GET", "/People()?$filter=Age%20gt", auth="key")
    wire.ask("QueryEntities", "GET", "/Nobody()")
    wire.ask("QueryEntities", "GET", "/People()", auth="none")
    wire.ask("DeleteEntity", "DELETE", "/People" + key, If_Match="*")
    wire.ask("DeleteTable", "DELETE", "/Tables('People')")


def queue(wire, properties):
    service = "/?restype=service&comp=properties"
    text = b"<QueueMessage><MessageText>bGlmZQ==</MessageText></QueueMessage>"
    wire.ask("SetQueueServiceProperties", "PUT", service, properties)
    wire.ask("GetQueueServiceProperties", "GET", service)
    wire.ask("GetQueueServiceStats", "GET", "/?restype=service&comp=stats",
             account=ACCOUNT + "-secondary")
    wire.ask("CreateQueue", "PUT", "/work")
    wire.ask("ListQueues", "GET", "/?comp=list&prefix=wo")
    wire.ask("SetQueueMetadata", "PUT", "/work?comp=metadata", x_ms_meta_a="1")
    wire.ask("GetQueueMetadata", "GET", "/work?comp=metadata")
    wire.ask("GetQueueMetadata", "HEAD", "/work?comp=metadata")
    wire.ask("SetQueueAcl", "PUT", "/work?comp=acl", ACL)
    wire.ask("GetQueueAcl", "GET", "/work?comp=acl")
    wire.ask("PutMessage", "POST", "/work/messages", text)
    wire.ask("PeekMessages", "GET", "/work/messages?peekonly=true")
    got = wire.ask("GetMessages", "GET", "/work/messages?visibilitytimeout=30")
    name, receipt = message(got)
    changed = wire.ask("UpdateMessage", "PUT", f"/work/messages/{name}?visibilitytimeout=30"
                       f"&popreceipt={receipt}", text)
    receipt = changed.reply["x-ms-popreceipt"].replace("+", "%2B").replace("=", "%3D")
    wire.ask("DeleteMessage", "DELETE", f"/work/messages/{name}?popreceipt={receipt}")
    wire.ask("ClearMessages", "DELETE", "/work/messages")
    wire.ask("QueuePreflightRequest", "OPTIONS", "/work", auth="none", Origin="http://a.example",
             Access_Control_Request_Method="GET")
    # Some that fail.
    wire.ask("PutMessage", "POST", "/nowhere/messages", text)
    wire.ask("PutMessage", "POST", "/work/messages", b"<QueueMessage>", version="2015-12-11")
    wire.ask("GetMessages", "GET", "/work/messages", auth="wrong")
    wire.ask("GetMessages", "GET", "/work/messages", auth="none")
    wire.ask("DeleteQueue", "DELETE", "/work")


def message(got):
    body = got.body.decode("utf-8-sig")
    name = re.search("<MessageId>(.*?)</MessageId>", body)[1]
    receipt = re.search("<PopReceipt>(.*?)</PopReceipt>", body)[1]
    return name, receipt.replace("+", "%2B").replace("=", "%3D")


def leases(wire, path, kind):
    joint = "&" if "?" in path else "?"
    path = f"{path}{joint}comp=lease"
    given = {"x_ms_lease_id": LEASE}
    wire.ask(f"Acquire{kind}Lease", "PUT", path, x_ms_lease_action="acquire",
             x_ms_lease_duration="60", x_ms_proposed_lease_id=LEASE)
    wire.ask(f"Renew{kind}Lease", "PUT", path, x_ms_lease_action="renew", **given)
    wire.ask(f"Change{kind}Lease", "PUT", path, x_ms_lease_action="change",
             x_ms_proposed_lease_id=OTHER_LEASE, **given)
    wire.ask(f"Break{kind}Lease", "PUT", path, x_ms_lease_action="break",
             x_ms_lease_break_period="0")
    wire.ask(f"Acquire{kind}Lease", "PUT", path, x_ms_lease_action="acquire",
             x_ms_lease_duration="60", x_ms_proposed_lease_id=LEASE)
    wire.ask(f"Release{kind}Lease", "PUT", path, x_ms_lease_action="release", **given)


def blob(wire, properties):
    service = "/?restype=service&comp=properties"
    data = b"moving pictures"
    md5 = base64.b64encode(hashlib.md5(data).digest()).decode()
    block = base64.b64encode(b"one").decode()
    films = "/films?restype=container"
    source = f"http://127.0.0.1:{wire.port}/{ACCOUNT}/films/a.mov"
    wire.ask("SetBlobServiceProperties", "PUT", service, properties)
    wire.ask("GetBlobServiceProperties", "GET", service)
    wire.ask("GetBlobServiceStats", "GET", "/?restype=service&comp=stats",
             account=ACCOUNT + "-secondary")
    wire.ask("GetAccountInformation", "GET", "/?restype=account&comp=properties")
    wire.ask("CreateContainer", "PUT", films)
    wire.ask("ListContainers", "GET", "/?comp=list")
    wire.ask("GetContainerProperties", "GET", films)
    wire.ask("SetContainerMetadata", "PUT", films + "&comp=metadata", x_ms_meta_a="1")
    wire.ask("GetContainerMetadata", "HEAD", films + "&comp=metadata")
    wire.ask("SetContainerACL", "PUT", films + "&comp=acl", ACL, x_ms_blob_public_access="blob")
    wire.ask("GetContainerACL", "GET", films + "&comp=acl")
    leases(wire, films, "Container")
    put = wire.ask("PutBlob", "PUT", "/films/a.mov", data, x_ms_blob_type="BlockBlob",
                   Content_MD5=md5)
    wire.ask("PutBlob", "PUT", "/films/l%20%22o%22%26g", b"", x_ms_blob_type="AppendBlob")
    wire.ask("AppendBlock", "PUT", "/films/l%20%22o%22%26g?comp=appendblock", data)
    wire.ask("PutBlock", "PUT", f"/films/b.mov?comp=block&blockid={block.replace('=', '%3D')}",
             data)
    wire.ask("PutBlockList", "PUT", "/films/b.mov?comp=blocklist",
             f"<BlockList><Latest>{block}</Latest></BlockList>".encode())
    wire.ask("GetBlockList", "GET", "/films/b.mov?comp=blocklist")
    wire.ask("CopyBlob", "PUT", "/films/c.mov", x_ms_copy_source=source)
    wire.ask("CopyBlobFromURL", "PUT", "/films/d.mov", x_ms_copy_source=source,
             x_ms_requires_sync="true")
    wire.ask("AbortCopyBlob", "PUT", "/films/c.mov?comp=copy&copyid=" + LEASE,
             x_ms_copy_action="abort")
    wire.ask("ListBlobs", "GET", films + "&comp=list")
    wire.ask("GetBlob", "GET", "/films/a.mov", Referer='http://site.example/?a="<b>"&sig=secret')
    wire.ask("GetBlobProperties", "HEAD", "/films/a.mov")
    wire.ask("SetBlobMetadata", "PUT", "/films/a.mov?comp=metadata", x_ms_meta_a="1",
             If_Match=put.reply["etag"])
    wire.ask("GetBlobMetadata", "GET", "/films/a.mov?comp=metadata")
    changed = wire.ask("SetBlobProperties", "PUT", "/films/a.mov?comp=properties",
                       x_ms_blob_content_type="video/quicktime")
    wire.ask("SnapshotBlob", "PUT", "/films/a.mov?comp=snapshot")
    leases(wire, "/films/a.mov", "Blob")
    wire.ask("BlobPreflightRequest", "OPTIONS", "/films/a.mov", auth="none",
             Origin="http://a.example", Access_Control_Request_Method="GET")
    wire.ask("GetBlob", "GET", "/films/a.mov", auth="none")
    # Some that fail.
    wire.ask("GetBlob", "GET", "/films/a.mov", If_None_Match=changed.reply["etag"])
    wire.ask("GetBlob", "GET", "/films/a.mov", If_None_Match=changed.reply["etag"], auth="none")
    wire.ask("GetBlob", "GET", "/films/nothing")
    wire.ask("GetBlob", "GET", "/films/nothing", auth="none")
    wire.ask("GetBlob", "GET", "/films/a.mov", auth="wrong")
    wire.ask("ListBlobs", "GET", films + "&comp=list", auth="none")
    wire.ask("PutBlob", "PUT", "/nowhere/a.mov", data, x_ms_blob_type="BlockBlob")
    wire.ask("DeleteBlob", "DELETE", "/films/a.mov", x_ms_delete_snapshots="include")
    wire.ask("DeleteContainer", "DELETE", films)


RUN = {"table": table, "queue": queue, "blob": blob}
