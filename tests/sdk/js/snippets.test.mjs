// What the server's page shows as code for JavaScript (src/server/explorer/page/snippets.js) runs as it
// stands there.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import test from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { accounts, endpoint, mainAccount } from "./lib.mjs";

const HERE = path.dirname(fileURLToPath(import.meta.url));
const PAGE = path.join(HERE, "../../../src/server/explorer/page/snippets.js");

test("the page's code for JavaScript stores an entity and reads it", async () => {
  const folder = await mkdtemp(path.join(os.tmpdir(), "tavola-snippet-"));
  try {
    await writeFile(path.join(folder, "snippets.mjs"), await readFile(PAGE));
    await symlink(path.join(HERE, "node_modules"), path.join(folder, "node_modules"));
    const { SNIPPETS } = await import(path.join(folder, "snippets.mjs"));
    assert.deepEqual(Object.keys(SNIPPETS), ["Python", "JavaScript", ".NET", "Java", "Go", "Rust", "C", "curl", "tavola"]);
    const connection = `DefaultEndpointsProtocol=http;AccountName=${mainAccount};AccountKey=${accounts[mainAccount][0]};TableEndpoint=${endpoint}/${mainAccount};`;
    await writeFile(path.join(folder, "code.mjs"), SNIPPETS.JavaScript({ name: mainAccount }, connection));
    const { stdout } = await promisify(execFile)("node", ["code.mjs"], { cwd: folder });
    assert.match(stdout, /partitionKey: 'Sales'/);
    assert.match(stdout, /name: 'Ada'/);
  } finally {
    await rm(folder, { recursive: true });
  }
});
