"""Shared access signatures and access policies, made and used by the SDK, over http and https."""

import datetime
import os
import unittest

from azure.core.credentials import AzureNamedKeyCredential, AzureSasCredential
from azure.core.exceptions import HttpResponseError
from azure.data.tables import (AccountSasPermissions, ResourceTypes, TableAccessPolicy, TableClient,
                               TableSasPermissions, TableServiceClient, UpdateMode,
                               generate_account_sas, generate_table_sas)

from helpers import ACCOUNTS, ENDPOINT, FIRST, Case, table_name

KEY = AzureNamedKeyCredential(FIRST, ACCOUNTS[FIRST][0])
SECOND_KEY = AzureNamedKeyCredential(FIRST, ACCOUNTS[FIRST][1])
TLS_ENDPOINT = os.environ.get("SDK_TEST_TLS") and ENDPOINT.replace("http:", "https:")
CERTIFICATE = os.environ.get("SDK_TEST_CERTIFICATE")
HOUR = datetime.timedelta(hours=1)


def now():
    return datetime.datetime.now(datetime.timezone.utc).replace(tzinfo=None)


class Access:
    """The tests; the classes below say over which protocol."""

    url = f"{ENDPOINT}/{FIRST}"
    options = {}

    @classmethod
    def setUpClass(cls):
        cls.service = TableServiceClient(cls.url, credential=KEY, retry_total=0, **cls.options)
        cls.table = cls.service.create_table(table_name())
        for partition in "abcd":
            cls.table.create_entity({"PartitionKey": partition, "RowKey": "1", "n": 1})

    def with_token(self, token, table=None):
        return TableClient(self.url, table or self.table.table_name, retry_total=0,
                           credential=AzureSasCredential(token), **self.options)

    def service_with_token(self, token):
        return TableServiceClient(self.url, credential=AzureSasCredential(token), retry_total=0,
                                  **self.options)

    def token(self, key=KEY, **more):
        if "policy_id" not in more:
            more = {"permission": TableSasPermissions(read=True), "expiry": now() + HOUR, **more}
        return generate_table_sas(key, self.table.table_name, **more)

    def keys(self, client, **named):
        return [e["PartitionKey"] for e in client.list_entities(**named)]

    def test_table_sas_reads(self):
        for key in (KEY, SECOND_KEY):
            client = self.with_token(self.token(key))
            self.assertEqual(client.get_entity("a", "1")["n"], 1)
            self.assertEqual(self.keys(client), ["a", "b", "c", "d"])
            self.refused(403, "AuthorizationPermissionMismatch", client.create_entity,
                         {"PartitionKey": "new", "RowKey": "1"})

    def test_table_sas_of_each_permission(self):
        def permits(**letters):
            return self.with_token(self.token(permission=TableSasPermissions(**letters)))

        entity = {"PartitionKey": "own", "RowKey": "1", "n": 1}
        permits(add=True).create_entity(entity)
        permits(update=True).update_entity({**entity, "n": 2}, mode=UpdateMode.REPLACE)
        permits(add=True, update=True).upsert_entity({**entity, "n": 3})
        self.assertEqual(permits(read=True).get_entity("own", "1")["n"], 3)
        for letters, function in (({"update": True, "read": True}, "create_entity"),
                                  ({"add": True, "read": True}, "update_entity"),
                                  ({"add": True, "delete": True}, "upsert_entity"),
                                  ({"update": True, "read": True}, "upsert_entity"),
                                  ({"read": True, "add": True, "update": True}, "delete_entity")):
            self.refused(403, "AuthorizationPermissionMismatch",
                         getattr(permits(**letters), function), entity)
        permits(delete=True).delete_entity("own", "1")
        self.refused(404, "ResourceNotFound", self.table.get_entity, "own", "1")

    def test_table_sas_for_transactions(self):
        operations = [("upsert", {"PartitionKey": "batch", "RowKey": str(i)}) for i in range(3)]
        client = self.with_token(self.token(permission=TableSasPermissions(add=True, update=True)))
        self.assertEqual(len(client.submit_transaction(operations)), 3)
        with self.assertRaises(HttpResponseError) as caught:
            client.submit_transaction([("delete", e) for _, e in operations])
        self.assertEqual(caught.exception.status_code, 403)
        self.table.submit_transaction([("delete", e) for _, e in operations])

    def test_table_sas_of_another_table(self):
        other = self.service.create_table(table_name())
        client = self.with_token(self.token(), other.table_name)
        self.refused(403, "AuthorizationFailure", client.get_entity, "a", "1")
        other.delete_table()

    def test_key_ranges(self):
        token = self.token(permission=TableSasPermissions(read=True, add=True, update=True,
                                                          delete=True),
                           start_pk="b", start_rk="1", end_pk="c", end_rk="1")
        client = self.with_token(token)
        self.assertEqual(self.keys(client), ["b", "c"])
        self.assertEqual([e["PartitionKey"] for e in client.query_entities(
            "PartitionKey eq 'a' or PartitionKey eq 'c'")], ["c"])
        client.upsert_entity({"PartitionKey": "c", "RowKey": "1", "n": 1})
        for partition in "ad":
            self.refused(403, "AuthorizationFailure", client.get_entity, partition, "1")
            self.refused(403, "AuthorizationFailure", client.upsert_entity,
                         {"PartitionKey": partition, "RowKey": "1"})
        self.refused(403, "AuthorizationFailure", client.create_entity,
                     {"PartitionKey": "c", "RowKey": "2"})

    def test_times(self):
        self.refused(403, "AuthenticationFailed",
                     self.with_token(self.token(expiry=now() - HOUR)).get_entity, "a", "1")
        self.refused(403, "AuthenticationFailed",
                     self.with_token(self.token(start=now() + HOUR / 2)).get_entity, "a", "1")
        self.with_token(self.token(start=now() - HOUR)).get_entity("a", "1")

    def test_addresses(self):
        """By account SAS: this SDK's table SAS loses the address on its way."""
        def client(addresses):
            return self.with_token(generate_account_sas(
                KEY, ResourceTypes(object=True), AccountSasPermissions(read=True), now() + HOUR,
                ip_address_or_range=addresses))

        client("127.0.0.1").get_entity("a", "1")
        client("127.0.0.0-127.0.0.9").get_entity("a", "1")
        self.refused(403, "AuthorizationSourceIPMismatch",
                     client("10.0.0.1-10.0.0.9").get_entity, "a", "1")

    def test_protocols(self):
        client = self.with_token(self.token(protocol="https"))
        if self.url.startswith("https"):
            client.get_entity("a", "1")
        else:
            self.refused(403, "AuthorizationProtocolMismatch", client.get_entity, "a", "1")
        self.with_token(self.token(protocol="https,http")).get_entity("a", "1")

    def test_access_policies(self):
        """Policies read back as they were set, and tokens rely on them until they are gone."""
        start = now().replace(microsecond=0) - HOUR
        self.table.set_table_access_policy({
            "reader": TableAccessPolicy(start=start, expiry=start + 3 * HOUR, permission="r"),
            "over": TableAccessPolicy(start=start, expiry=start + HOUR / 2, permission="r"),
            "empty": None,
        })
        stored = self.table.get_table_access_policy()
        self.assertEqual(set(stored), {"reader", "over", "empty"})
        self.assertEqual(stored["reader"].permission, "r")
        client = self.with_token(self.token(policy_id="reader"))
        self.assertEqual(client.get_entity("a", "1")["n"], 1)
        self.refused(403, "AuthorizationPermissionMismatch", client.delete_entity, "a", "1")
        self.refused(403, "AuthenticationFailed",
                     self.with_token(self.token(policy_id="over")).get_entity, "a", "1")
        self.refused(403, "AuthenticationFailed",
                     self.with_token(self.token(policy_id="none")).get_entity, "a", "1")
        own = self.token(policy_id="empty", permission=TableSasPermissions(read=True),
                         expiry=now() + HOUR)
        self.with_token(own).get_entity("a", "1")
        # An empty dictionary would be sent as an empty document, which the service refuses.
        self.table.set_table_access_policy({"another": None})
        self.assertEqual(self.table.get_table_access_policy(), {"another": None})
        self.refused(403, "AuthenticationFailed", client.get_entity, "a", "1")
        self.refused(403, "AuthenticationFailed", self.with_token(own).get_entity, "a", "1")

    def test_too_many_policies(self):
        with self.assertRaises((HttpResponseError, ValueError)):
            self.table.set_table_access_policy({f"p{i}": TableAccessPolicy(permission="r")
                                                for i in range(6)})

    def account_token(self, types, *permissions, key=KEY):
        # Containers, here tables, have no name of their own in this SDK.
        return generate_account_sas(key, ResourceTypes.from_string(types),
                                    AccountSasPermissions(**{name: True for name in permissions}),
                                    now() + HOUR)

    def test_account_sas(self):
        service = self.service_with_token(self.account_token(
            "sco", "read", "write", "delete", "list", "add", "create", "update"))
        table = service.create_table(table_name())
        table.create_entity({"PartitionKey": "p", "RowKey": "r"})
        self.assertEqual(self.keys(table), ["p"])
        self.assertIn(table.table_name, [t.name for t in service.list_tables()])
        service.get_service_properties()
        self.refused(403, "AuthorizationFailure", table.get_table_access_policy)
        table.delete_table()

    def test_account_sas_of_types_and_permissions(self):
        objects = self.service_with_token(self.account_token("o", "read", "list"))
        self.refused(403, "AuthorizationResourceTypeMismatch", lambda: list(objects.list_tables()))
        self.assertEqual(objects.get_table_client(self.table.table_name).get_entity("a", "1")["n"],
                         1)
        delete = self.service_with_token(self.account_token("c", "delete", key=SECOND_KEY))
        self.refused(403, "AuthorizationPermissionMismatch", delete.create_table, table_name())
        service = self.service_with_token(self.account_token("s", "read"))
        service.get_service_properties()
        self.refused(403, "AuthorizationResourceTypeMismatch", service.create_table, table_name())


class Http(Access, Case):
    pass


@unittest.skipUnless(TLS_ENDPOINT, "the server that is tested has no certificate")
class Https(Access, Case):
    url = f"{TLS_ENDPOINT}/{FIRST}"
    options = {"connection_verify": CERTIFICATE}
