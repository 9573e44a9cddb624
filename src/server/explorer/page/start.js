// Connect: where the services are, how each SDK finds them, and one entity sent for real.

import { h, put, copyButton, glyph, say, instant, milliseconds } from './dom.js';
import * as api from './api.js';
import { topBar, troubleBox } from './frame.js';
import { firstRequest, refreshTree, tableNames } from './names.js';
import { link } from './route.js';
import { SNIPPETS } from './snippets.js';

const DEVELOPMENT_KEY =
  'Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==';

function connectionString(account) {
  const scheme = account.endpoints.table.split(':')[0];
  const key = account.isDevelopment ? DEVELOPMENT_KEY : '<your key>';
  return (
    `DefaultEndpointsProtocol=${scheme};AccountName=${account.name};AccountKey=${key};` +
    `BlobEndpoint=${account.endpoints.blob};QueueEndpoint=${account.endpoints.queue};TableEndpoint=${account.endpoints.table};`
  );
}

function endpoints(account) {
  const text = connectionString(account);
  const row = (label, value) => [
    h('div', { class: 'lbl' }, label),
    h('div', { class: 'val copied' }, value),
    h('div', null, copyButton(value, label)),
  ];
  return h(
    'div',
    { class: 'ends' },
    row('Tables', account.endpoints.table),
    row('Queues', account.endpoints.queue),
    row('Blobs', account.endpoints.blob),
    row('Connection string', text),
  );
}

function snippets(account) {
  let chosen = localStorage.getItem('tavola.language') || 'Python';
  const box = h('div', { class: 'code' });
  const draw = () => {
    const text = SNIPPETS[chosen](account, connectionString(account));
    put(
      box,
      h(
        'div',
        { class: 'bar' },
        h(
          'div',
          { class: 'seg wraps', role: 'group', 'aria-label': 'Language' },
          Object.keys(SNIPPETS).map(name =>
            h(
              'button',
              {
                'aria-pressed': String(name === chosen),
                onclick: () => {
                  chosen = name;
                  localStorage.setItem('tavola.language', name);
                  draw();
                  box.querySelector('[aria-pressed="true"]').focus();
                },
              },
              name,
            ),
          ),
        ),
        h('span', { class: 'grow' }),
        copyButton(text, 'Code'),
      ),
      h('pre', { tabindex: '0', role: 'region', 'aria-label': `${chosen} code` }, text),
    );
  };
  if (!SNIPPETS[chosen]) chosen = 'Python';
  draw();
  return box;
}

// A table of its own, an insert that is on the disk when it is answered, and a point query.
function testEntity() {
  const box = h('div', { class: 'ent' });
  const draw = (...nodes) => put(box, nodes);
  const send = async () => {
    try {
      try {
        await api.createTable('Hello');
      } catch (trouble) {
        if (trouble.code !== 'TableAlreadyExists') throw trouble;
      }
      const row = crypto.randomUUID();
      const properties = new Map([
        ['PartitionKey', { type: 'Edm.String', value: 'first' }],
        ['RowKey', { type: 'Edm.String', value: row }],
        ['Greeting', { type: 'Edm.String', value: 'Hello from Explorer' }],
        ['Answer', { type: 'Edm.Int32', value: '42' }],
      ]);
      let began = performance.now();
      await api.insertEntity('Hello', properties);
      const written = performance.now() - began;
      began = performance.now();
      const entity = await api.getEntity('Hello', 'first', row);
      const read = performance.now() - began;
      draw(
        h(
          'div',
          { class: 'hd' },
          h('b', null, 'Hello'),
          h('span', { class: 'grow' }),
          h('span', { class: 'chip point' }, glyph('point'), 'Point query'),
        ),
        h(
          'dl',
          null,
          [...entity.properties].map(([name, { type, value }]) => [
            h('dt', null, name),
            h('dd', null, type === 'Edm.DateTime' ? instant(value) : value),
          ]),
          h('dt', null, 'ETag'),
          h('dd', null, entity.etag),
        ),
        h(
          'div',
          { class: 'ft' },
          h('p', null, `On disk in ${milliseconds(written)}, read back in ${milliseconds(read)}.`),
          h(
            'div',
            { class: 'row' },
            h(
              'a',
              {
                class: 'btn',
                href: link('t', 'Hello', 'rows', {
                  f: `PartitionKey eq 'first' and RowKey eq '${row}'`,
                }),
              },
              'Open it',
            ),
            h('button', { class: 'btn quiet', onclick: send }, 'Send another'),
          ),
        ),
      );
      say('The test entity is stored and read back.');
      refreshTree();
    } catch (trouble) {
      draw(
        troubleBox(trouble),
        h('div', { class: 'ft' }, h('button', { class: 'btn', onclick: send }, 'Try again')),
      );
    }
  };
  draw(
    h(
      'div',
      { class: 'hd' },
      h('b', null, 'A test entity'),
      h('span', { class: 'grow' }),
      h('span', { class: 'muted' }, 'not sent yet'),
    ),
    h(
      'dl',
      null,
      [
        ['PartitionKey', 'first'],
        ['RowKey', 'a new one'],
        ['Greeting', 'Hello from Explorer'],
        ['Answer', '42'],
      ].map(([name, value]) => [h('dt', null, name), h('dd', null, value)]),
    ),
    h(
      'div',
      { class: 'ft' },
      h('p', null, 'Makes the table Hello, inserts one entity and reads it back by its key.'),
      h('p', null, h('button', { class: 'btn primary', onclick: send }, 'Send a test entity')),
    ),
  );
  return box;
}

// What the first request of an application looked like, once there is one.
function firstLine() {
  const line = h('p', { class: 'firstline', role: 'status' });
  const draw = () => {
    const first = firstRequest();
    if (!first) {
      put(
        line,
        h('i', { class: 'dot wait', 'aria-hidden': 'true' }),
        'Waiting for the first request of your application.',
      );
      return;
    }
    const isGood = first.status < 400,
      text = `First request: ${first.method} ${first.name || first.operation} from ${first.agent || 'a client without a name'}, ${first.status}.`;
    if (line.dataset.text === text) return;
    line.dataset.text = text;
    put(
      line,
      h('i', { class: isGood ? 'dot' : 'dot bad', 'aria-hidden': 'true' }),
      text,
      !isGood &&
        h(
          'span',
          { class: 'soft' },
          first.status === 403
            ? ' Refused: the key of the account, or the clock, is not right.'
            : [' Refused: ', h('a', { href: link('server') }, 'the log'), ' says more.'],
        ),
    );
  };
  draw();
  addEventListener('treechange', draw);
  return { line, leave: () => removeEventListener('treechange', draw) };
}

export function show() {
  const hello = api.serverFacts();
  const account =
    hello.accounts.find(each => each.name === api.currentAccount()) || hello.accounts[0];
  const kept =
    hello.engine === 'memory'
      ? 'Kept in memory only: gone when the server stops.'
      : hello.engine === 'rados'
        ? 'Everything lies in the Ceph cluster.'
        : 'What is acknowledged is on the disk.';
  const first = firstLine(),
    ofTable = tab => {
      const [table] = tableNames();
      return table ? link('t', table, tab) : link('account');
    };
  return {
    leave: first.leave,
    nodes: [
      topBar('Connect', `${hello.engine}, since ${instant(hello.startedAt).slice(0, 19)}`),
      h(
        'div',
        { class: 'page' },
        h(
          'div',
          { class: 'first' },
          h(
            'div',
            { class: 'lead' },
            h('h2', { class: 'big' }, 'Tavola is up. Point your app at it.'),
            h('p', null, `An Azure Table, Queue and Blob service on this machine. ${kept}`),
          ),
          endpoints(account),
          first.line,
          h(
            'div',
            { class: 'steps' },
            h('section', null, h('h2', null, 'In your language'), snippets(account)),
            h('section', null, h('h2', null, 'Try it'), testEntity()),
          ),
          h(
            'div',
            { class: 'next' },
            h(
              'div',
              null,
              h('h3', null, 'See a plan'),
              h(
                'p',
                null,
                h('a', { href: ofTable('rows') }, 'Open a table'),
                ' and type a filter: how it will be read is shown while you type.',
              ),
            ),
            h(
              'div',
              null,
              h('h3', null, 'See the heat'),
              h(
                'p',
                null,
                'Each table has ',
                h('a', { href: ofTable('heat') }, 'a map of its traffic'),
                ': time against keys.',
              ),
            ),
            h(
              'div',
              null,
              h('h3', null, 'Get advice'),
              h(
                'p',
                null,
                'What the design guide would say about your traffic. ',
                h('a', { href: link('advice') }, 'Advice'),
              ),
            ),
          ),
        ),
      ),
    ],
  };
}
