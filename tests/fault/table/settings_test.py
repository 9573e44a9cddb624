"""Access policies and service properties are on the disk once they are answered."""

import unittest

from server import Server
from table_client import Client

POLICIES = (b"<SignedIdentifiers><SignedIdentifier><Id>p</Id><AccessPolicy><Permission>r"
            b"</Permission></AccessPolicy></SignedIdentifier></SignedIdentifiers>")
PROPERTIES = (b"<StorageServiceProperties><Cors><CorsRule><AllowedOrigins>http://a.example"
              b"</AllowedOrigins><AllowedMethods>GET</AllowedMethods><AllowedHeaders />"
              b"<ExposedHeaders /><MaxAgeInSeconds>5</MaxAgeInSeconds></CorsRule></Cors>"
              b"</StorageServiceProperties>")
SERVICE = "/?restype=service&comp=properties"


class Settings(unittest.TestCase):
    def setUp(self):
        self.server = Server()
        self.server.start()
        self.client = Client(self.server.table_port)

    def tearDown(self):
        self.client.close()
        code = self.server.stop()
        log = self.server.log()
        self.server.clean()
        self.assertEqual(code, 0, log[-2000:])

    def restart(self):
        self.client.close()
        self.server.kill()
        self.server.start()
        self.client.close()
        self.client = Client(self.server.table_port)

    def policies(self, table):
        return self.client.request("GET", f"/{table}?comp=acl").body

    def test_they_survive_a_kill(self):
        for table in ("first", "second"):
            self.assertEqual(self.client.create_table(table).status, 204)
            reply = self.client.request("PUT", f"/{table}?comp=acl", POLICIES)
            self.assertEqual(reply.status, 204, reply)
        self.assertEqual(self.client.request("PUT", SERVICE, PROPERTIES).status, 202)
        self.restart()
        for table in ("first", "second"):
            self.assertIn(POLICIES, self.policies(table))
        self.assertIn(b"http://a.example", self.client.request("GET", SERVICE).body)
        reply = self.client.request("GET", "/Tables", Origin="http://a.example")
        self.assertEqual(reply.headers["Access-Control-Allow-Origin"], "http://a.example")

        # What was removed stays removed, even when the table is created again.
        self.assertEqual(self.client.request("PUT", "/first?comp=acl", b"").status, 204)
        self.assertEqual(self.client.request("DELETE", "/Tables('second')").status, 204)
        self.assertEqual(self.client.create_table("second").status, 204)
        self.restart()
        for table in ("first", "second"):
            self.assertIn(b"<SignedIdentifiers />", self.policies(table))
