// Export of exactly one query, as a stream: pages go into a file as they come.  Import is import.js.

import { h, put, count, plural, bytes } from './dom.js';
import * as api from './api.js';
import { troubleBox } from './frame.js';
import { csvColumns, csvHead, csvLines, ndjsonLines } from './transfer.js';
import { save, LEFT_OVER_MS } from './save.js';
import { importSection } from './import.js';
import { copySection } from './copy.js';

/**
 * Where an export goes: a file on disk that belongs to this page, which is saved when it is whole; so
 * memory does not grow with it.  Browsers that have no such files keep it in memory: `isInMemory`.
 */
async function openSink(name) {
  const folder =
    window.isSecureContext && window.FileSystemFileHandle?.prototype.createWritable
      ? await navigator.storage?.getDirectory?.().catch(() => null)
      : null;
  if (!folder) {
    const parts = [];
    return {
      isInMemory: true,
      write: async text => {
        parts.push(new Blob([text]));
      },
      close: async () => save(parts, name),
      abort: async () => {},
    };
  }
  for await (const each of folder.keys())
    if (each.startsWith('export-') && Date.now() - Number(each.split('-')[1]) > LEFT_OVER_MS)
      await folder.removeEntry(each).catch(() => {});
  const own = `export-${Date.now()}-${crypto.randomUUID()}`,
    handle = await folder.getFileHandle(own, { create: true }),
    stream = await handle.createWritable();
  return {
    write: text => stream.write(text),
    close: async () => {
      await stream.close();
      save(await handle.getFile(), name);
    },
    abort: async () => {
      await stream.abort().catch(() => {});
      await folder.removeEntry(own).catch(() => {});
    },
  };
}

async function* pagesOf(table, filter, signal) {
  let next = null;
  do {
    const page = await api.queryPage(table, { filter, next, signal });
    yield page;
    next = page.next;
  } while (next);
}

/** Write a query into a sink.  `report(words)`; throws an AbortError when `signal` says so.  {entities, size}. */
async function exportQuery(table, filter, { isCsv, guard, signal, sink, report }) {
  let columns = null,
    entities = 0,
    size = 0;
  const write = async text => {
    size += new TextEncoder().encode(text).length;
    await sink.write(text);
  };
  if (isCsv) {
    // its columns have to be known before its first line, so the query is walked twice
    const names = new Set();
    let seen = 0;
    for await (const page of pagesOf(table, filter, signal)) {
      for (const entity of page.entities)
        for (const name of entity.properties.keys()) names.add(name);
      report(`Looking at ${count((seen += page.returned))} for their columns`);
    }
    columns = csvColumns(names);
    await write(csvHead(columns));
  }
  for await (const page of pagesOf(table, filter, signal)) {
    await write(isCsv ? csvLines(page.entities, columns, { guard }) : ndjsonLines(page.entities));
    entities += page.returned;
    report(`${plural(entities, 'entity', 'entities')}, ${bytes(size)}`);
  }
  return { entities, size };
}

function exportSection(table, filter) {
  const field = h('input', {
    class: 'field mono grow',
    'aria-label': 'Filter of the export',
    placeholder: 'No filter: the whole table',
    value: filter,
    onkeydown: event => {
      if (event.key === 'Enter' && !stop) run();
    },
  });
  const format = h(
    'select',
    { class: 'field', 'aria-label': 'Format' },
    [
      ['csv', 'Typed CSV'],
      ['ndjson', 'NDJSON'],
    ].map(([id, name]) => h('option', { value: id }, name)),
  );
  const guard = h('input', { type: 'checkbox' });
  const progress = h('p', { role: 'status' }),
    trouble = h('div');
  let stop = null;
  const button = h(
    'button',
    { class: 'btn primary', onclick: () => (stop ? stop.abort() : run()) },
    'Export',
  );

  async function run() {
    const isCsv = format.value === 'csv';
    let sink = null;
    stop = new AbortController();
    put(button, 'Stop');
    put(trouble);
    try {
      sink = await openSink(`${table}.${isCsv ? 'typed.csv' : 'ndjson'}`);
      const note = sink.isInMemory ? ' This browser keeps it in memory until it is saved.' : '';
      const { entities, size } = await exportQuery(table, field.value, {
        isCsv,
        guard: guard.checked,
        signal: stop.signal,
        sink,
        report: words => put(progress, words, note),
      });
      await sink.close();
      put(progress, `${plural(entities, 'entity', 'entities')} exported, ${bytes(size)}.`);
    } catch (error) {
      await sink?.abort();
      if (error.name === 'AbortError') put(progress, 'Stopped. Nothing was saved.');
      else {
        put(progress);
        put(trouble, troubleBox(error));
      }
    }
    stop = null;
    put(button, 'Export');
  }

  return {
    node: h(
      'section',
      { class: 'card io', 'aria-label': 'Export' },
      h('h2', null, 'Export'),
      h('p', { class: 'soft' }, 'Exactly this query, with types.'),
      h('div', { class: 'row' }, field, format, button),
      h(
        'label',
        { class: 'row' },
        guard,
        'Put an apostrophe before text that a spreadsheet would run (= + - @); it changes the data',
      ),
      progress,
      trouble,
    ),
    leave: () => stop?.abort(),
  };
}

export function show(route, table) {
  const out = exportSection(table, route.query.get('f') || ''),
    into = importSection(table),
    copy = copySection(table);
  return {
    nodes: h('div', { class: 'pad' }, out.node, into.node, copy.node),
    stays: true,
    leave: () => {
      out.leave();
      into.leave();
      copy.leave();
    },
  };
}
