"""Who may use containers and blobs, and the properties and account of the service."""

import base64
import datetime
import unittest

from azure.core.credentials import AzureSasCredential
from azure.core.exceptions import ClientAuthenticationError, HttpResponseError
from azure.storage.blob import (AccessPolicy, AccountSasPermissions, BlobAnalyticsLogging,
                                BlobClient, BlobSasPermissions, BlobServiceClient, ContainerClient,
                                ContainerSasPermissions, CorsRule, Metrics, ResourceTypes,
                                RetentionPolicy, generate_account_sas, generate_blob_sas,
                                generate_container_sas)

from storage import (ACCOUNTS, BLOB_ENDPOINT, CERTIFICATE, FIRST, HAS_TLS, HOUR, MAIN, OPTIONS,
                     SECOND, StorageCase, blob_service, key, name, now)

URL = f"{BLOB_ENDPOINT}/{FIRST}"


class Keys(StorageCase):
    def test_wrong_keys(self):
        for what, account, text in (
                ("wrong", FIRST, base64.b64encode(b"7" * 64).decode()),
                ("unknown account", "nobody", ACCOUNTS[FIRST][0]),
                ("another's", FIRST, ACCOUNTS[SECOND][0])):
            with self.subTest(what):
                service = blob_service(account, {"account_name": account, "account_key": text})
                self.refused(403, "AuthenticationFailed", service.create_container, name(),
                             kind=ClientAuthenticationError)

    def test_both_keys_work(self):
        container = self.new_container(FIRST)
        blob_service(FIRST, key(FIRST, 1)).get_blob_client(
            container.container_name, "blob").upload_blob(b"text")
        self.assertEqual(container.download_blob("blob").readall(), b"text")

    def test_connection_string(self):
        service = BlobServiceClient.from_connection_string(
            f"DefaultEndpointsProtocol=http;AccountName={MAIN};AccountKey={ACCOUNTS[MAIN][0]};"
            f"BlobEndpoint={BLOB_ENDPOINT}/{MAIN};", **OPTIONS)
        list(service.list_containers())

    @unittest.skipUnless(HAS_TLS, "the server that is tested has no certificate")
    def test_https(self):
        container = self.new_container()
        container.upload_blob("blob", b"text")
        secure = BlobClient(f"{BLOB_ENDPOINT}/{MAIN}".replace("http:", "https:"),
                            container.container_name, "blob", credential=key(),
                            connection_verify=CERTIFICATE, **OPTIONS)
        self.assertEqual(secure.download_blob().readall(), b"text")


class Signatures(StorageCase):
    NAME = "some/blob é"

    @classmethod
    def setUpClass(cls):
        cls.container = blob_service(FIRST).create_container(name())
        cls.container.upload_blob(cls.NAME, b"content")

    @classmethod
    def tearDownClass(cls):
        cls.container.delete_container()

    def blob_with(self, token, blob_name=NAME, snapshot=None):
        return BlobClient(URL, self.container.container_name, blob_name, snapshot=snapshot,
                          credential=AzureSasCredential(token), **OPTIONS)

    def of_blob(self, letters=None, blob_name=NAME, n=0, **more):
        if letters:
            more = {"expiry": now() + HOUR, "permission": BlobSasPermissions.from_string(letters),
                    **more}
        return generate_blob_sas(FIRST, self.container.container_name, blob_name,
                                 account_key=ACCOUNTS[FIRST][n], **more)

    def of_container(self, letters=None, container=None, **more):
        if letters:
            more = {"expiry": now() + HOUR,
                    "permission": ContainerSasPermissions.from_string(letters), **more}
        container = container or self.container
        token = generate_container_sas(FIRST, container.container_name,
                                       account_key=ACCOUNTS[FIRST][0], **more)
        return ContainerClient(URL, container.container_name, credential=AzureSasCredential(token),
                               **OPTIONS)

    def denied(self, function, *arguments, **named):
        self.refused(403, "AuthorizationPermissionMismatch", function, *arguments, **named)

    def test_blob(self):
        blob = self.blob_with(self.of_blob("r"))
        self.assertEqual(blob.download_blob().readall(), b"content")
        self.assertEqual(blob.get_blob_properties().size, 7)
        self.denied(blob.upload_blob, b"x", overwrite=True)
        self.denied(blob.delete_blob)
        self.refused(403, "AuthenticationFailed",
                     self.blob_with(self.of_blob("r"), "other").download_blob,
                     kind=ClientAuthenticationError)
        self.assertEqual(self.blob_with(self.of_blob("r", n=1)).download_blob().readall(),
                         b"content")

    def test_container(self):
        reader = self.of_container("rl")
        self.assertIn(self.NAME, [b.name for b in reader.list_blobs()])
        self.assertEqual(reader.download_blob(self.NAME).readall(), b"content")
        self.denied(reader.upload_blob, "new", b"x")
        self.denied(lambda: list(self.of_container("r").list_blobs()))
        writer = self.of_container("rcwd")
        writer.upload_blob("new", b"x")
        writer.delete_blob("new")

    def test_snapshot(self):
        blob = self.container.get_blob_client(name())
        blob.upload_blob(b"first")
        snapshot = blob.create_snapshot()["snapshot"]
        blob.upload_blob(b"second", overwrite=True)
        token = self.of_blob("r", blob.blob_name, snapshot=snapshot)
        there = self.blob_with(token, blob.blob_name, snapshot)
        self.assertEqual(there.download_blob().readall(), b"first")
        with self.assertRaises(HttpResponseError) as caught:
            self.blob_with(token, blob.blob_name).download_blob()
        self.assertEqual(caught.exception.status_code, 403)

    def test_times_addresses_and_protocols(self):
        for options, code in (({"expiry": now() - HOUR}, "AuthenticationFailed"),
                              ({"start": now() + HOUR / 2}, "AuthenticationFailed"),
                              ({"ip": "10.0.0.1-10.0.0.9"}, "AuthorizationSourceIPMismatch"),
                              ({"protocol": "https"}, "AuthorizationProtocolMismatch")):
            with self.subTest(str(options)):
                self.refused(403, code, self.blob_with(self.of_blob("r", **options)).download_blob)
        for options in ({"start": now() - HOUR}, {"ip": "127.0.0.1"}, {"protocol": "https,http"}):
            with self.subTest(str(options)):
                self.blob_with(self.of_blob("r", **options)).download_blob()

    def test_overrides(self):
        settings = self.blob_with(self.of_blob(
            "r", cache_control="no-store", content_disposition='attachment; filename="x & y"',
            content_encoding="identity", content_language="de",
            content_type="image/png")).download_blob().properties.content_settings
        self.assertEqual((settings.cache_control, settings.content_disposition,
                          settings.content_encoding, settings.content_language,
                          settings.content_type),
                         ("no-store", 'attachment; filename="x & y"', "identity", "de",
                          "image/png"))

    def test_access_policies(self):
        container = self.new_container(FIRST)
        container.upload_blob("blob", b"text")
        start = now().replace(microsecond=0) - HOUR
        container.set_container_access_policy({
            "reader": AccessPolicy(ContainerSasPermissions(read=True), start=start,
                                   expiry=start + 3 * HOUR),
            "over": AccessPolicy(ContainerSasPermissions(read=True), start=start,
                                 expiry=start + HOUR / 2),
        })
        stored = container.get_container_access_policy()
        self.assertEqual([one.id for one in stored["signed_identifiers"]], ["reader", "over"])
        self.assertEqual(stored["signed_identifiers"][0].access_policy.permission, "r")
        self.assertIsNone(stored["public_access"])
        reader = self.of_container(container=container, policy_id="reader")
        self.assertEqual(reader.download_blob("blob").readall(), b"text")
        self.denied(reader.upload_blob, "new", b"x")
        for gone in ("over", "none"):
            self.refused(403, "AuthenticationFailed", self.of_container(
                container=container, policy_id=gone).download_blob, "blob")
        container.set_container_access_policy({})
        self.refused(403, "AuthenticationFailed", reader.download_blob, "blob")

    def account_service(self, types, letters):
        token = generate_account_sas(FIRST, ACCOUNTS[FIRST][0], ResourceTypes.from_string(types),
                                     AccountSasPermissions.from_string(letters), now() + HOUR)
        return blob_service(FIRST, AzureSasCredential(token))

    def test_account_sas(self):
        service = self.account_service("sco", "rwdlac")
        container = service.create_container(name())
        container.upload_blob("blob", b"text")
        self.assertEqual([b.name for b in container.list_blobs()], ["blob"])
        self.assertIn(container.container_name, [c.name for c in service.list_containers()])
        service.get_service_properties()
        container.delete_container()
        self.refused(403, "AuthorizationResourceTypeMismatch",
                     self.account_service("o", "rwdl").create_container, name())
        self.denied(self.account_service("c", "r").create_container, name())
        objects = self.account_service("o", "r").get_blob_client(
            self.container.container_name, self.NAME)
        self.assertEqual(objects.download_blob().readall(), b"content")


class Everybody(StorageCase):
    def anonymous(self, container):
        return ContainerClient(f"{BLOB_ENDPOINT}/{MAIN}", container.container_name, **OPTIONS)

    def shut(self, function, *arguments):
        with self.assertRaises(HttpResponseError) as caught:
            function(*arguments)
        self.assertIn(caught.exception.status_code, (401, 403, 404))

    def test_public_access(self):
        for access in (None, "blob", "container"):
            with self.subTest(access):
                container = self.new_container(public_access=access)
                container.upload_blob("blob", b"text")
                client = self.anonymous(container)
                self.assertEqual(container.get_container_properties().public_access, access)
                if access:
                    self.assertEqual(client.download_blob("blob").readall(), b"text")
                else:
                    self.shut(client.download_blob, "blob")
                if access == "container":
                    self.assertEqual([b.name for b in client.list_blobs()], ["blob"])
                else:
                    self.shut(lambda c=client: list(c.list_blobs()))
                self.shut(client.upload_blob, "new", b"x")
                self.shut(client.delete_blob, "blob")

    def test_access_is_taken_back(self):
        container = self.new_container(public_access="blob")
        container.upload_blob("blob", b"text")
        container.set_container_access_policy({}, public_access="container")
        self.assertEqual(container.get_container_access_policy()["public_access"], "container")
        container.set_container_access_policy({})
        self.shut(self.anonymous(container).download_blob, "blob")


class Service(StorageCase):
    def test_properties(self):
        service = blob_service(SECOND)
        logging = BlobAnalyticsLogging(read=True, write=True, delete=False,
                                       retention_policy=RetentionPolicy(enabled=True, days=5))
        hours = Metrics(enabled=True, include_apis=True,
                        retention_policy=RetentionPolicy(enabled=True, days=3))
        rules = [CorsRule(["http://a.example", "http://b.example"], ["GET", "PUT"],
                          allowed_headers=["x-ms-*"], exposed_headers=["*"], max_age_in_seconds=60)]
        service.set_service_properties(analytics_logging=logging, hour_metrics=hours, cors=rules)
        got = service.get_service_properties()
        self.assertEqual((got["analytics_logging"].read, got["analytics_logging"].delete,
                          got["analytics_logging"].retention_policy.days), (True, False, 5))
        self.assertEqual((got["hour_metrics"].enabled, got["hour_metrics"].include_apis),
                         (True, True))
        rule, = got["cors"]
        self.assertEqual((rule.allowed_origins, rule.allowed_methods, rule.max_age_in_seconds),
                         ("http://a.example,http://b.example", "GET,PUT", 60))
        service.set_service_properties(cors=[])
        self.assertEqual(service.get_service_properties()["cors"], [])
        self.assertTrue(service.get_service_properties()["hour_metrics"].enabled)

    def test_statistics(self):
        # Where the account is in the path, the secondary has the same host.
        service = BlobServiceClient(f"{BLOB_ENDPOINT}/{SECOND}-secondary", credential=key(SECOND),
                                    secondary_hostname=BLOB_ENDPOINT.removeprefix("http://"),
                                    **OPTIONS)
        stats = service.get_service_stats()["geo_replication"]
        self.assertEqual(stats["status"], "live")
        self.assertIsInstance(stats["last_sync_time"], datetime.datetime)

    def test_account_information(self):
        for client in (blob_service(), self.new_container()):
            info = client.get_account_information()
            self.assertRegex(info["sku_name"], "^Standard_")
            self.assertIn("Storage", info["account_kind"])
