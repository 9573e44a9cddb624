// The rows of a query: one long list, of which only what is looked at is in memory.
//
// The list is cut into blocks.  A block begins at a key and is read from there on, page by page: a
// continuation token is nothing but a key, so any place is one request away.  Where the cuts are
// comes from the server's sample of keys (a ladder); without one there is a single block, which
// grows.  How many rows a block has is an estimate until it has been read to its end; then the rows
// behind it move, and whoever shows them is told by how much.
//
//  - A block that is whole has all its rows; `known` rows of any other are there from its beginning.
//  - The blocks' keys are in order and have no gap: to of one is from of the next.
//  - Pages that nobody looks at are forgotten and fetched again: memory does not grow with the table.

import * as api from './api.js';

const KEPT_TEXT = 40e6; // characters of answers that are kept
const KEPT_PAGES = 40;
const AHEAD = 300; // rows beyond those in view that are fetched
const IN_FLIGHT = 2;

/** Keys are [partition, row], ordered as the service orders them: by UTF-16 units. */
export const compareKeys = (a, b) =>
  a[0] !== b[0] ? (a[0] < b[0] ? -1 : 1) : a[1] === b[1] ? 0 : a[1] < b[1] ? -1 : 1;
const keyOfRow = entity => [entity.partition, entity.row];

const newBlock = (from, to, expected) => ({
  from,
  to,
  expected,
  pages: [],
  known: 0,
  next: undefined,
  isLoading: false,
  start: 0,
  size: 0,
});
const isWhole = block => block.next === null;

export class Pages {
  /** on.change({rows, shift, cursor}): rows that have come, by how much the view moves, where the cursor is now. */
  constructor(table, { filter, select, top, on }) {
    Object.assign(this, {
      table,
      filter,
      select,
      top,
      on,
      blocks: [newBlock(null, null, 0)],
      total: null,
      isExact: false,
      trouble: null,
    });
    Object.assign(this, {
      examined: 0,
      returned: 0,
      ms: 0,
      requests: 0,
      plan: null,
      uses: 0,
      flying: 0,
      wanted: [],
      seen: [0, 0],
      cursor: 0,
    });
    this.stop = new AbortController();
    this.layOut();
  }

  get isDone() {
    return this.blocks.every(isWhole);
  }
  get isLoading() {
    return this.flying > 0;
  }

  // --- where everything is ---

  /** Give every block its place.  What is not known shares what is left of the total. */
  layOut() {
    const open = this.blocks.filter(block => !isWhole(block));
    const known = this.blocks.reduce((sum, block) => sum + block.known, 0);
    const rest = this.total === null ? 0 : Math.max(0, this.total - known);
    const share = block => Math.max(1, block.expected - block.known);
    const shares = open.reduce((sum, block) => sum + share(block), 0);
    let start = 0,
      before = 0,
      given = 0;
    for (const block of this.blocks) {
      block.start = start;
      block.size = block.known;
      if (!isWhole(block)) {
        before += share(block);
        const more = Math.max(1, Math.round((rest * before) / shares) - given);
        given += more;
        block.size += more;
      }
      start += block.size;
    }
    this.length = start;
  }

  blockAt(index) {
    let low = 0,
      high = this.blocks.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.blocks[middle].start <= index) low = middle;
      else high = middle - 1;
    }
    while (low > 0 && this.blocks[low].size === 0) low--; // empty ones stand where the next begins
    return this.blocks[low];
  }

  static pageAt(block, offset) {
    let low = 0,
      high = block.pages.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (block.pages[middle].first <= offset) low = middle;
      else high = middle - 1;
    }
    return block.pages[low];
  }

  /** The row, or null while it is not there. */
  at(index) {
    if (index < 0 || index >= this.length) return null;
    const block = this.blockAt(index),
      offset = index - block.start;
    if (offset >= block.known) return null;
    const page = Pages.pageAt(block, offset);
    return page.rows ? (page.rows[offset - page.first] ?? null) : null;
  }

  /** Whether the number of this row is what it would be if all before it had been read. */
  isCounted(index) {
    const isNear = block => isWhole(block) || block.start + block.known > index;
    return (
      this.blocks.every(isNear) ||
      (this.isExact &&
        this.blocks.every(block => isWhole(block) || block.start + block.size <= index))
    );
  }

  /** A place that outlives a change: rows keep theirs, what is not known keeps its distance from the nearer end. */
  mark(index) {
    const block = this.blockAt(Math.max(0, Math.min(index, this.length - 1))),
      offset = index - block.start;
    return { block, offset, isKnown: offset < block.known, fromEnd: block.size - offset };
  }

  indexOf({ block, offset, isKnown, fromEnd }) {
    if (!isKnown && fromEnd < offset)
      return Math.max(block.start, block.start + block.size - fromEnd);
    return block.start + Math.min(offset, Math.max(0, block.size - 1));
  }

  /** Do something that moves rows, and say by how much those in view have moved. */
  change(rows, work) {
    const [first, last] = this.seen;
    let at = first;
    for (let i = first; i <= last && i < this.length; i++)
      if (this.mark(i).isKnown) {
        at = i;
        break;
      }
    if (this.cursor >= first && this.cursor <= last && this.mark(this.cursor).isKnown)
      at = this.cursor; // who looks, looks there
    const view = this.mark(at),
      cursor = this.mark(this.cursor);
    work();
    this.layOut();
    const shift = this.indexOf(view) - at;
    this.seen = [first + shift, last + shift];
    this.cursor = this.indexOf(cursor);
    this.on.change({ rows, shift, cursor: this.cursor });
  }

  // --- loading ---

  async fetch(token, top = this.top) {
    const answer = await api.queryPage(this.table, {
      filter: this.filter,
      select: this.select,
      top,
      next: token,
      signal: this.stop.signal,
    });
    this.examined += answer.examined;
    this.ms += answer.ms;
    this.requests++;
    this.plan = answer.plan;
    return answer;
  }

  /** Rows for a block that begin where it ends so far; what is beyond it goes to the blocks behind. */
  take(at, rows, answer) {
    const block = this.blocks[at];
    const cut = block.to ? rows.findIndex(row => compareKeys(keyOfRow(row), block.to) >= 0) : -1;
    const mine = cut < 0 ? rows : rows.slice(0, cut);
    if (mine.length)
      block.pages.push({
        token: api.tokenOf(...keyOfRow(mine[0])),
        first: block.known,
        last: keyOfRow(mine[mine.length - 1]),
        count: mine.length,
        rows: mine,
        text: (answer.text * mine.length) / Math.max(1, answer.returned),
        used: ++this.uses,
      });
    block.known += mine.length;
    this.returned += mine.length;
    const next = answer.next && api.keyOfToken(answer.next),
      behind = this.blocks[at + 1];
    const isPast = cut >= 0 || !next || (block.to && compareKeys(next, block.to) >= 0);
    block.next = isPast ? null : answer.next;
    if (this.top && this.returned >= this.top) block.next = null;
    if (!isPast || !behind || behind.known || behind.isLoading || behind.next !== undefined) return;
    if (cut >= 0) this.take(at + 1, rows.slice(cut), answer);
    else if (!next)
      for (const each of this.blocks.slice(at + 1)) {
        if (each.next === undefined && !each.isLoading) each.next = null;
        else break;
      }
  }

  /** One more page of a block.  False when there is none, or it did not work. */
  async extend(block) {
    if (isWhole(block) || block.isLoading) return false;
    block.isLoading = true;
    this.flying++;
    this.trouble = null;
    try {
      const answer = await this.fetch(
        block.next || (block.from ? api.tokenOf(...block.from) : null),
      );
      block.isLoading = false;
      this.change(answer.entities, () => {
        this.take(this.blocks.indexOf(block), answer.entities, answer);
        this.forget();
      });
      return true;
    } catch (trouble) {
      if (trouble.name !== 'AbortError') this.trouble = trouble;
      return false;
    } finally {
      block.isLoading = false;
      this.flying--;
      if (this.trouble) this.on.change({ rows: [], shift: 0, cursor: this.cursor });
    }
  }

  /** A page that was forgotten. */
  async refetch(block, page) {
    if (page.isLoading) return;
    page.isLoading = true;
    this.flying++;
    try {
      const answer = await this.fetch(page.token, page.count);
      this.change([], () => {
        if (answer.returned === page.count)
          page.rows = answer.entities; // else the page ended early, or rows have gone
        else this.reread(block, page, answer);
        page.text = answer.text;
        page.used = ++this.uses;
        this.forget();
      });
    } catch (trouble) {
      if (trouble.name !== 'AbortError') {
        this.trouble = trouble;
        this.on.change({ rows: [], shift: 0, cursor: this.cursor });
      }
    } finally {
      page.isLoading = false;
      this.flying--;
    }
  }

  /** Rows of a page have gone since: the block is known up to it, and read on from there. */
  reread(block, page, answer) {
    const at = block.pages.indexOf(page);
    block.pages.length = at;
    block.known = page.first;
    this.take(this.blocks.indexOf(block), answer.entities, answer);
  }

  /** The first page, or the next of what is growing. */
  more() {
    const block = this.blocks.find(each => !isWhole(each));
    return block ? this.extend(block) : Promise.resolve(false);
  }

  /** The first page: everything that waits for rows waits for it. */
  begin() {
    return this.extend(this.blocks[0]);
  }

  /** Load until everything is there; `progress()` false stops it. */
  async all(progress) {
    while (!this.isDone && progress() !== false) if (!(await this.more())) break;
  }

  /** These rows are looked at: have them, and some around them. */
  view(first, last, cursor) {
    this.seen = [first, last];
    this.cursor = cursor;
    const near = [],
      far = [];
    const from = Math.max(0, first - AHEAD),
      to = Math.min(this.length - 1, last + AHEAD);
    for (
      let at = this.blocks.indexOf(this.blockAt(from));
      at >= 0 && at < this.blocks.length && this.blocks[at].start <= to;
      at++
    ) {
      const block = this.blocks[at],
        inView = block.start <= last && block.start + block.size > first;
      for (const page of block.pages) {
        const begin = block.start + page.first,
          end = begin + page.count;
        if (begin > to || end <= from) continue;
        page.used = ++this.uses;
        if (!page.rows) (begin <= last && end > first ? near : far).push([block, page]);
      }
      if (!isWhole(block) && block.start + block.known <= to)
        (inView && last >= block.start + block.known ? near : far).push([block, null]);
    }
    this.wanted = [...near, ...far];
    // A thumb that is dragged passes a thousand places: only where it rests is worth a request.
    if (this.wanted.length && !this.timer)
      this.timer = setTimeout(() => {
        this.timer = 0;
        this.pump();
      }, 20);
  }

  pump() {
    if (this.stop.signal.aborted || this.trouble || !this.flights()) return;
    while (this.wanted.length && this.flights() > 0) {
      const [block, page] = this.wanted.shift();
      const task = page ? this.refetch(block, page) : block.isLoading ? null : this.extend(block);
      task?.then(() => this.pump());
    }
  }

  flights() {
    return IN_FLIGHT - this.flying;
  }

  /** Keep what was used last, within bounds of number and size. */
  forget() {
    const loaded = this.blocks
      .flatMap(block => block.pages)
      .filter(page => page.rows)
      .sort((a, b) => b.used - a.used);
    let text = 0;
    loaded.forEach((page, i) => {
      text += page.text;
      if (i >= 3 && (i >= KEPT_PAGES || text > KEPT_TEXT)) page.rows = null;
    });
  }

  // --- places ---

  /**
   * Cut the list at known keys: [{key, rows}] in order, all of the query's; about so many rows are
   * from this key to the next.  `total` is how many there are in all, exactly or about.
   */
  setLadder(ladder, total, isExact) {
    const [first] = this.blocks;
    if (this.top || this.blocks.length > 1 || isWhole(first) || total <= first.known) return;
    const behind = api.keyOfToken(first.next),
      cuts = ladder.filter(({ key }) => compareKeys(key, behind) > 0);
    if (!cuts.length) return;
    this.change([], () => {
      this.total = total;
      this.isExact = isExact;
      first.to = cuts[0].key;
      first.expected = ladder
        .filter(({ key }) => compareKeys(key, behind) <= 0)
        .reduce((sum, { rows }) => sum + rows, 0);
      this.blocks = [
        first,
        ...cuts.map(({ key, rows }, i) => newBlock(key, cuts[i + 1]?.key || null, rows)),
      ];
    });
  }

  /** Read a block to its end. */
  async finish(block) {
    while (!isWhole(block) && !this.stop.signal.aborted) {
      if (block.isLoading) await new Promise(resolve => setTimeout(resolve, 10));
      else if (!(await this.extend(block))) return false;
    }
    return true;
  }

  /** The last row: read what is at the end of the list. */
  async end() {
    for (let at = this.blocks.length - 1; at >= 0; at--) {
      if (!(await this.finish(this.blocks[at]))) return this.length - 1;
      const block = this.blocks[at],
        page = block.pages[block.pages.length - 1];
      if (page && !page.rows) await this.refetch(block, page);
      if (page) break;
    }
    return this.length - 1;
  }

  /** The index of the first row whose key is this one or behind it, loaded; else the last.  -1: it did not work. */
  async seek(key) {
    for (;;) {
      const at = this.blocks.findLastIndex(each => !each.from || compareKeys(each.from, key) <= 0),
        block = this.blocks[at];
      const page = block.pages.find(each => compareKeys(each.last, key) >= 0);
      if (page && !page.rows) await this.refetch(block, page);
      if (page && !page.rows) return -1;
      if (page && block.pages.includes(page))
        return (
          block.start +
          page.first +
          Math.max(
            0,
            page.rows.findIndex(row => compareKeys(keyOfRow(row), key) >= 0),
          )
        );
      if (page) continue; // it was read again, with other rows
      if (isWhole(block) && this.blocks[at + 1]) key = this.blocks[at + 1].from;
      else if (isWhole(block)) return this.end();
      else if (block.isLoading) await new Promise(resolve => setTimeout(resolve, 10));
      else if (!this.isNextOf(block, key)) this.cut(block, key);
      else if (!(await this.extend(block))) return -1;
    }
  }

  /** Whether the next page of a block is where a key is, or beyond it. */
  isNextOf(block, key) {
    return block.next
      ? compareKeys(api.keyOfToken(block.next), key) >= 0
      : !!block.from && compareKeys(block.from, key) === 0;
  }

  /** Two blocks of one: all of its rows that are known are before the key. */
  cut(block, key) {
    this.change([], () => {
      const behind = newBlock(key, block.to, Math.max(0, block.expected - block.known) / 2);
      block.to = key;
      block.expected -= behind.expected;
      this.blocks.splice(this.blocks.indexOf(block) + 1, 0, behind);
    });
  }

  // --- what is in memory ---

  /** Change one that is loaded, in place: after an edit. */
  replace(entity) {
    for (const page of this.blocks.flatMap(block => block.pages)) {
      const at = page.rows
        ? page.rows.findIndex(row => row.partition === entity.partition && row.row === entity.row)
        : -1;
      if (at >= 0) {
        page.rows[at] = entity;
        return true;
      }
    }
    return false;
  }

  /** All that is in memory, in order. */
  loaded() {
    return this.blocks.flatMap(block => block.pages).flatMap(page => page.rows || []);
  }

  close() {
    clearTimeout(this.timer);
    this.stop.abort();
  }
}
