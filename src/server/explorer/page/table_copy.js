// A table into another one of the account, and the moving of its entities.  No table can be locked, so programs may
// write to both meanwhile, and another window may do the same.  What holds:
//
//  - The copy is a table that was made for this: nothing is mixed into what somebody else has.
//  - An entity is deleted from the first table only while it is what the second one was seen to have: with its ETag.
//  - Nothing is ever deleted from the second table.  What was deleted from the first one meanwhile is counted.
//  - What differs is found by looking at both again, and brought over if the first table's is newer.  Where the
//    copy's is newer somebody has written there: both stay as they are, and it is counted.

import * as api from './api.js';
import { compareKeys } from './pages.js';

const BATCH_MAX = 100,
  BATCH_BYTES = 3 << 20,
  IN_FLIGHT = 4,
  PASSES_MAX = 5;
const GONE = ['ResourceNotFound', 'EntityNotFound'],
  OTHERS = [...GONE, 'EntityAlreadyExists', 'UpdateConditionNotSatisfied']; // somebody else was faster

async function* entitiesOf(table, signal) {
  let next = null;
  do {
    const page = await api.queryPage(table, { next, signal });
    yield* page.entities;
    next = page.next;
  } while (next);
}

/** Entities with the same keys of two tables, in order; either may be undefined. */
async function* pairsOf(from, to, signal) {
  const a = entitiesOf(from, signal),
    b = entitiesOf(to, signal);
  let x = (await a.next()).value,
    y = (await b.next()).value;
  while (x || y) {
    const order = !y ? -1 : !x ? 1 : compareKeys([x.partition, x.row], [y.partition, y.row]);
    yield [order <= 0 ? x : undefined, order >= 0 ? y : undefined];
    if (order <= 0) x = (await a.next()).value;
    if (order >= 0) y = (await b.next()).value;
  }
}

const contentOf = entity =>
  api.entityJson(new Map([...entity.properties].sort(([a], [b]) => (a < b ? -1 : 1))));
const timeOf = entity => {
  const [second, digits = ''] = entity.properties
    .get('Timestamp')
    .value.replace('Z', '')
    .split('.');
  return `${second}.${digits.padEnd(7, '0')}`;
};

/** Changes of one table, in batches of which some are on their way at the same time. */
class Batches {
  /** `lost(error)`: somebody else was faster with an entity, which is left as it is. */
  constructor(table, signal, lost) {
    Object.assign(this, { table, signal, lost, group: [], cost: 0, tasks: new Set(), error: null });
  }

  async add(operation) {
    const cost = operation.properties
      ? new TextEncoder().encode(api.entityJson(operation.properties)).length
      : 0;
    if (
      this.group.length &&
      (this.group[0].partition !== operation.partition ||
        this.group.length === BATCH_MAX ||
        this.cost + cost > BATCH_BYTES)
    )
      await this.flush();
    this.group.push(operation);
    this.cost += cost;
  }

  async flush() {
    const { group } = this;
    this.group = [];
    this.cost = 0;
    while (this.tasks.size >= IN_FLIGHT) await Promise.race(this.tasks);
    this.signal.throwIfAborted();
    if (this.error) throw this.error;
    if (group.length === 0) return;
    const task = this.send(group)
      .catch(error => {
        this.error ||= error;
      })
      .finally(() => this.tasks.delete(task));
    this.tasks.add(task);
  }

  /** A batch that fails as a whole is sent again one by one. */
  async send(group) {
    try {
      await api.sendBatch(this.table, group);
    } catch (error) {
      if (!OTHERS.includes(error.code)) throw error;
      if (group.length === 1) this.lost(error);
      else for (const operation of group) await this.send([operation]);
    }
  }

  async end() {
    await this.flush();
    await Promise.all(this.tasks);
    if (this.error) throw this.error;
  }
}

/**
 * Look at all of both tables once, and bring over what the copy has not.  {seen, same, brought, kept, extra}: entities of
 * the first table; those that were found the same; what was brought over; where the copy was left as somebody else has
 * it; what only the copy has.
 */
async function look(from, to, { signal, report, onSame }) {
  const sums = { seen: 0, same: 0, brought: 0, kept: 0, extra: 0 };
  const writes = new Batches(to, signal, () => {
    sums.brought--;
    sums.kept++;
  });
  for await (const [x, y] of pairsOf(from, to, signal)) {
    if (x) report(++sums.seen);
    if (!x) sums.extra++;
    else if (y && contentOf(x) === contentOf(y)) {
      sums.same++;
      await onSame?.(x);
    } else if (y && timeOf(x) <= timeOf(y)) sums.kept++;
    else {
      sums.brought++;
      await writes.add({
        how: y ? 'replace' : 'insert',
        partition: x.partition,
        row: x.row,
        properties: x.properties,
        etag: y?.etag,
      });
    }
  }
  await writes.end();
  return sums;
}

/** Copy, then look until both are the same: the sums of the last look; its `brought` is 0 unless it is written to all the time. */
export async function copyEntities(from, to, { signal, report }) {
  let sums = await look(from, to, { signal, report: seen => report('Copying', seen) });
  for (let pass = 1; pass <= PASSES_MAX; pass++) {
    sums = await look(from, to, { signal, report: seen => report('Comparing', seen) });
    if (sums.brought === 0) break;
  }
  return sums;
}

/**
 * Move what was copied, and what is written to the first table meanwhile, until that is empty.  {moved, left, kept,
 * gone}: what the last look has found and not deleted, how much of that was left as the copy has it, and what somebody
 * else has deleted and the copy has.
 */
export async function moveEntities(from, to, { signal, report }) {
  let moved = 0,
    gone = 0,
    sums;
  for (let pass = 1; pass <= PASSES_MAX; pass++) {
    const deletes = new Batches(from, signal, error => {
      moved--;
      if (GONE.includes(error.code)) gone++;
    }); // changed meanwhile: the next look sees it
    sums = await look(from, to, {
      signal,
      report: () => {},
      onSame: x => {
        report('Moving', ++moved);
        return deletes.add({ how: 'delete', partition: x.partition, row: x.row, etag: x.etag });
      },
    });
    await deletes.end();
    if (sums.seen === sums.kept) break;
  }
  return { moved, left: sums.seen, kept: sums.kept, gone };
}

/** The stored policies, too. */
export async function copyPolicies(from, to) {
  const path = table => `/api/table/${api.currentAccount()}/${encodeURIComponent(table)}?comp=acl`,
    headers = { 'x-ms-version': '2019-02-02' };
  const policies = await (await api.service('GET', path(from), { headers })).text();
  if (policies.includes('<SignedIdentifier>'))
    await api.service('PUT', path(to), {
      body: policies,
      headers: { ...headers, 'content-type': 'application/xml' },
    });
}
