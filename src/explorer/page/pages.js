// The rows of a query, page by page.  Each page is known by the token it begins with, so pages that
// nobody looks at are forgotten and fetched again: memory does not grow with the table.

import * as api from './api.js';

const KEPT_PAGES = 24;

export class Pages {
  /** `on.change()` when rows have come. */
  constructor(table, { filter, select, top, on }) {
    Object.assign(this, { table, filter, select, top, on, pages: [], next: null, isDone: false, isLoading: false, trouble: null });
    Object.assign(this, { examined: 0, ms: 0, requests: 0, plan: null, uses: 0 });
    this.stop = new AbortController();
  }

  /** How many rows are known of. */
  get length() {
    const last = this.pages[this.pages.length - 1];
    return last ? last.first + last.count : 0;
  }

  async fetch(token) {
    return api.queryPage(this.table, { filter: this.filter, select: this.select, top: this.top, next: token, signal: this.stop.signal });
  }

  /** Load one more page at the end.  False when there is none, or it did not work. */
  async more() {
    if (this.isDone || this.isLoading) return false;
    this.isLoading = true;
    this.trouble = null;
    try {
      const token = this.next, answer = await this.fetch(token);
      this.pages.push({ token, first: this.length, count: answer.entities.length, rows: answer.entities, used: ++this.uses });
      this.next = answer.next;
      this.isDone = !answer.next || (this.top > 0 && this.length >= this.top);
      this.examined += answer.examined;
      this.ms += answer.ms;
      this.requests++;
      this.plan = answer.plan;
      this.forget();
      return true;
    } catch (trouble) {
      if (trouble.name === 'AbortError') return false;
      this.trouble = trouble;
      return false;
    } finally {
      this.isLoading = false;
      this.on.change();
    }
  }

  /** Load until `index` is there, or all; `progress()` false stops it. */
  async reach(index, progress) {
    while (this.length <= index && !this.isDone && progress() !== false) {
      if (!await this.more()) break;
    }
  }

  forget() {
    const loaded = this.pages.filter(page => page.rows);
    if (loaded.length <= KEPT_PAGES) return;
    loaded.sort((a, b) => a.used - b.used);
    for (const page of loaded.slice(0, loaded.length - KEPT_PAGES)) page.rows = null;
  }

  pageOf(index) {
    let low = 0, high = this.pages.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.pages[middle].first <= index) low = middle; else high = middle - 1;
    }
    return this.pages[low];
  }

  /** The row, or null while it is fetched again. */
  at(index) {
    const page = this.pageOf(index);
    if (!page || index >= page.first + page.count) return null;
    page.used = ++this.uses;
    if (page.rows) return page.rows[index - page.first];
    if (!page.isLoading) {
      page.isLoading = true;
      this.fetch(page.token).then(answer => { page.rows = answer.entities; this.forget(); }, () => {}).finally(() => { page.isLoading = false; this.on.change(); });
    }
    return null;
  }

  /** Change one that is loaded, in place: after an edit. */
  replace(entity) {
    for (const page of this.pages) {
      const at = page.rows ? page.rows.findIndex(row => row.partition === entity.partition && row.row === entity.row) : -1;
      if (at >= 0) { page.rows[at] = entity; return true; }
    }
    return false;
  }

  /** All that is in memory, in order. */
  loaded() {
    return this.pages.flatMap(page => page.rows || []);
  }

  close() {
    this.stop.abort();
  }
}
