"""Who may use a queue, and the properties and statistics of the service."""

import base64
import datetime
import unittest

from azure.core.credentials import AzureSasCredential
from azure.core.exceptions import ClientAuthenticationError
from azure.storage.queue import (AccessPolicy, AccountSasPermissions, CorsRule, Metrics,
                                 QueueAnalyticsLogging, QueueClient, QueueSasPermissions,
                                 QueueServiceClient, ResourceTypes, RetentionPolicy,
                                 generate_account_sas, generate_queue_sas)

from storage import (ACCOUNTS, CERTIFICATE, FIRST, HAS_TLS, HOUR, MAIN, OPTIONS, QUEUE_ENDPOINT,
                     SECOND, StorageCase, key, name, now, queue_service)

URL = f"{QUEUE_ENDPOINT}/{FIRST}"


class Keys(StorageCase):
    def test_wrong_keys(self):
        for what, account, text in (
                ("wrong", FIRST, base64.b64encode(b"7" * 64).decode()),
                ("unknown account", "nobody", ACCOUNTS[FIRST][0]),
                ("another's", FIRST, ACCOUNTS[SECOND][0])):
            with self.subTest(what):
                service = queue_service(account, {"account_name": account, "account_key": text})
                self.refused(403, "AuthenticationFailed", service.create_queue, name(),
                             kind=ClientAuthenticationError)

    def test_both_keys_work(self):
        queue = self.new_queue(FIRST)
        queue_service(FIRST, key(FIRST, 1)).get_queue_client(queue.queue_name).send_message("text")
        self.assertEqual(queue.receive_message().content, "text")

    def test_connection_string(self):
        service = QueueServiceClient.from_connection_string(
            f"DefaultEndpointsProtocol=http;AccountName={MAIN};AccountKey={ACCOUNTS[MAIN][0]};"
            f"QueueEndpoint={QUEUE_ENDPOINT}/{MAIN};", **OPTIONS)
        list(service.list_queues())

    @unittest.skipUnless(HAS_TLS, "the server that is tested has no certificate")
    def test_https(self):
        queue = self.new_queue()
        secure = QueueClient(f"{QUEUE_ENDPOINT}/{MAIN}".replace("http:", "https:"),
                             queue.queue_name, credential=key(), connection_verify=CERTIFICATE,
                             **OPTIONS)
        secure.send_message("over TLS")
        self.assertEqual(queue.receive_message().content, "over TLS")


class Signatures(StorageCase):
    def setUp(self):
        self.queue = self.new_queue(FIRST)

    def token(self, permission=None, n=0, **more):
        named = {"expiry": now() + HOUR, **more} if permission else more
        return generate_queue_sas(FIRST, self.queue.queue_name, ACCOUNTS[FIRST][n],
                                  permission=permission, **named)

    def with_token(self, token):
        return QueueClient(URL, self.queue.queue_name, credential=AzureSasCredential(token),
                           **OPTIONS)

    def permits(self, letters, **more):
        return self.with_token(self.token(QueueSasPermissions.from_string(letters), **more))

    def denied(self, function, *arguments, **named):
        self.refused(403, "AuthorizationPermissionMismatch", function, *arguments, **named)

    def test_each_permission_is_one(self):
        sent = self.permits("a").send_message("text")
        self.denied(self.permits("a").peek_messages)
        self.assertEqual(self.permits("r").peek_messages()[0].content, "text")
        self.denied(self.permits("r").send_message, "text")
        self.denied(self.permits("r").receive_message)
        updated = self.permits("u").update_message(sent, content="new", visibility_timeout=0)
        self.denied(self.permits("u").delete_message, updated)
        got = self.permits("p").receive_message()
        self.assertEqual(got.content, "new")
        self.denied(self.permits("rap").update_message, got, content="newer")
        self.permits("p").delete_message(got)

    def test_times_addresses_and_protocols(self):
        refusals = (({"expiry": now() - HOUR}, "AuthenticationFailed"),
                    ({"start": now() + HOUR / 2}, "AuthenticationFailed"),
                    ({"ip": "10.0.0.1-10.0.0.9"}, "AuthorizationSourceIPMismatch"),
                    ({"protocol": "https"}, "AuthorizationProtocolMismatch"))
        for options, code in refusals:
            with self.subTest(str(options)):
                self.refused(403, code, self.permits("r", **options).peek_messages)
        for options in ({"start": now() - HOUR}, {"ip": "127.0.0.1"}, {"protocol": "https,http"},
                        {"n": 1}):
            with self.subTest(str(options)):
                self.permits("r", **options).peek_messages()

    def test_token_of_another_queue(self):
        token = self.token(QueueSasPermissions.from_string("raup"))
        self.queue = self.new_queue(FIRST)
        self.refused(403, "AuthenticationFailed", self.with_token(token).peek_messages,
                     kind=ClientAuthenticationError)

    def test_access_policies(self):
        self.assertEqual(self.queue.get_queue_access_policy(), {})
        start = now().replace(microsecond=0) - HOUR
        self.queue.set_queue_access_policy({
            "reader": AccessPolicy(QueueSasPermissions(read=True), start=start,
                                   expiry=start + 3 * HOUR),
            "over": AccessPolicy(QueueSasPermissions(read=True), start=start,
                                 expiry=start + HOUR / 2),
        })
        stored = self.queue.get_queue_access_policy()
        self.assertEqual(list(stored), ["reader", "over"])
        self.assertEqual(stored["reader"].permission, "r")
        # This SDK hands the times on as text.
        self.assertTrue(stored["reader"].start.startswith(start.strftime("%Y-%m-%dT%H:%M:%S")))
        reader = self.with_token(self.token(policy_id="reader"))
        self.assertEqual(reader.peek_messages(), [])
        self.denied(reader.send_message, "text")
        self.refused(403, "AuthenticationFailed",
                     self.with_token(self.token(policy_id="over")).peek_messages)
        self.refused(403, "AuthenticationFailed",
                     self.with_token(self.token(policy_id="none")).peek_messages)
        self.queue.set_queue_access_policy({})
        self.assertEqual(self.queue.get_queue_access_policy(), {})
        self.refused(403, "AuthenticationFailed", reader.peek_messages)

    def account_service(self, types, letters):
        token = generate_account_sas(FIRST, ACCOUNTS[FIRST][0], ResourceTypes.from_string(types),
                                     AccountSasPermissions.from_string(letters), now() + HOUR)
        return queue_service(FIRST, AzureSasCredential(token))

    def test_account_sas(self):
        service = self.account_service("sco", "rwdlacup")
        queue = service.create_queue(name())
        self.assertIn(queue.queue_name, [q.name for q in service.list_queues()])
        queue.send_message("text")
        queue.delete_message(queue.receive_message())
        service.get_service_properties()
        queue.delete_queue()

    def test_account_sas_of_types_and_permissions(self):
        self.refused(403, "AuthorizationResourceTypeMismatch",
                     self.account_service("o", "rwdl").create_queue, name())
        self.denied(self.account_service("c", "r").create_queue, name())
        objects = self.account_service("o", "r").get_queue_client(self.queue.queue_name)
        self.assertEqual(objects.peek_messages(), [])
        self.denied(objects.send_message, "text")


class Service(StorageCase):
    def test_properties(self):
        service = queue_service(SECOND)
        logging = QueueAnalyticsLogging(read=True, write=True, delete=False,
                                        retention_policy=RetentionPolicy(enabled=True, days=5))
        hours = Metrics(enabled=True, include_apis=True,
                        retention_policy=RetentionPolicy(enabled=True, days=3))
        rules = [CorsRule(["http://a.example", "http://b.example"], ["GET", "PUT"],
                          allowed_headers=["x-ms-*"], exposed_headers=["*"], max_age_in_seconds=60)]
        service.set_service_properties(analytics_logging=logging, hour_metrics=hours, cors=rules)
        got = service.get_service_properties()
        self.assertEqual((got["analytics_logging"].read, got["analytics_logging"].delete),
                         (True, False))
        self.assertEqual(got["analytics_logging"].retention_policy.days, 5)
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
        service = QueueServiceClient(f"{QUEUE_ENDPOINT}/{SECOND}-secondary", credential=key(SECOND),
                                     secondary_hostname=QUEUE_ENDPOINT.removeprefix("http://"),
                                     **OPTIONS)
        stats = service.get_service_stats()["geo_replication"]
        self.assertEqual(stats["status"], "live")
        self.assertIsInstance(stats["last_sync_time"], datetime.datetime)
