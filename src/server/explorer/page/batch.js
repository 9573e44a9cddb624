// An entity group transaction, operation by operation, with its rules in sight.

import { h, put, icon, count, bytes, plural, toast, visible } from './dom.js';
import * as api from './api.js';
import { troubleBox } from './frame.js';
import { refreshTree } from './names.js';
import { TYPES, problemOf, utf8Length } from './values.js';

const OPERATIONS_MAX = 100,
  BYTES_MAX = 4 << 20;
const KINDS = {
  insert: 'Insert',
  merge: 'Merge',
  replace: 'Replace',
  upsert: 'Insert or replace',
  delete: 'Delete',
};

const parseProperties = text => {
  const properties = new Map();
  for (const line of text
    .split('\n')
    .map(each => each.trim())
    .filter(Boolean)) {
    const match = /^([^=:\s]+)(?::(\w+))?\s*=(.*)$/s.exec(line);
    if (!match) throw new Error(`"${line.slice(0, 40)}" is not Name=value or Name:Type=value.`);
    const type = match[2]
      ? `Edm.${Object.values(TYPES).find(each => each.name.toLowerCase() === match[2].toLowerCase())?.name}`
      : 'Edm.String';
    if (!TYPES[type]) throw new Error(`There is no type ${match[2]}.`);
    const problem = problemOf(type, match[3].trim());
    if (problem) throw new Error(problem);
    properties.set(match[1], { type, value: match[3].trim() });
  }
  return properties;
};

export function show(route, table) {
  const operations = [];
  const list = h('div'),
    meters = h('div', { class: 'row meters', role: 'status' }),
    trouble = h('div');
  const sendButton = h('button', { class: 'btn primary', onclick: send }, 'Send the batch');

  /** What an operation sends: {properties, size} or {problem}; worked out once for each text. */
  function read(operation) {
    const { how, partition, row, text } = operation,
      key = JSON.stringify([how, partition, row]);
    if (operation.was?.key === key && operation.was.text === text) return operation.was;
    operation.was = { key, text };
    try {
      const properties = new Map([
        ['PartitionKey', { type: 'Edm.String', value: partition }],
        ['RowKey', { type: 'Edm.String', value: row }],
        ...(how === 'delete' ? [] : parseProperties(text)),
      ]);
      Object.assign(operation.was, {
        properties,
        size: utf8Length(api.entityJson(properties)) + 2 * utf8Length(partition + row) + 400,
      });
    } catch (error) {
      Object.assign(operation.was, { problem: error.message, size: 0 });
    }
    return operation.was;
  }

  function problems() {
    const seen = new Set();
    return operations.map((operation, i) => {
      if (i >= OPERATIONS_MAX) return `A batch takes 100 operations; this is number ${i + 1}.`;
      if (operation.partition !== operations[0].partition)
        return `All operations have one PartitionKey; the first has ${visible(operations[0].partition)}.`;
      if (seen.has(operation.row)) return 'An entity can be in a batch once.';
      seen.add(operation.row);
      return read(operation).problem || '';
    });
  }

  const size = () => operations.reduce((sum, operation) => sum + read(operation).size, 300);

  function check() {
    const found = problems(),
      total = size();
    operations.forEach((operation, i) => {
      if (operation.note.textContent !== found[i]) put(operation.note, found[i]);
      operation.node.classList.toggle('wrong', !!found[i]);
    });
    const partitions = new Set(operations.map(operation => operation.partition));
    put(
      meters,
      h(
        'span',
        { class: operations.length > OPERATIONS_MAX ? 'bad' : '' },
        `${count(operations.length)} of ${OPERATIONS_MAX} operations`,
      ),
      h('span', { class: total > BYTES_MAX ? 'bad' : '' }, `about ${bytes(total)} of 4 MiB`),
      h(
        'span',
        { class: partitions.size > 1 ? 'bad' : '' },
        partitions.size > 1
          ? plural(partitions.size, 'partition')
          : operations.length
            ? `partition ${visible(operations[0].partition)}`
            : 'no partition yet',
      ),
      partitions.size > 1 &&
        h('button', { class: 'btn small', onclick: split }, 'Keep the first partition'),
    );
    sendButton.disabled = operations.length === 0 || found.some(Boolean) || total > BYTES_MAX;
  }

  function split() {
    const first = operations[0].partition;
    for (let i = operations.length - 1; i >= 0; i--)
      if (operations[i].partition !== first) operations.splice(i, 1);
    draw();
  }

  function add(how = 'insert') {
    const last = operations[operations.length - 1];
    const operation = {
      how,
      partition: last?.partition ?? '',
      row: '',
      text: last?.text ?? '',
      note: h('div', { class: 'bad', role: 'alert' }),
      node: h('fieldset', { class: 'op card' }),
    };
    operations.push(operation);
    list.append(drawOne(operation, operations.length - 1));
    check();
    operation.node.querySelector('input')?.focus();
  }

  function drawOne(operation, i) {
    const kind = h(
      'select',
      {
        class: 'field',
        'aria-label': 'Operation',
        onchange: event => {
          operation.how = event.target.value;
          draw();
        },
      },
      Object.entries(KINDS).map(([id, name]) => h('option', { value: id }, name)),
    );
    kind.value = operation.how;
    return put(
      operation.node,
      h('legend', { class: 'sr' }, `Operation ${i + 1}`),
      h(
        'div',
        { class: 'row' },
        h('span', { class: 'muted num' }, i + 1),
        kind,
        h('input', {
          class: 'field mono',
          placeholder: 'PartitionKey',
          'aria-label': 'PartitionKey',
          value: operation.partition,
          oninput: event => {
            operation.partition = event.target.value;
            check();
          },
        }),
        h('input', {
          class: 'field mono',
          placeholder: 'RowKey',
          'aria-label': 'RowKey',
          value: operation.row,
          oninput: event => {
            operation.row = event.target.value;
            check();
          },
        }),
        h('span', { class: 'grow' }),
        h(
          'button',
          {
            class: 'btn quiet small',
            'aria-label': `Remove operation ${i + 1}`,
            onclick: () => {
              operations.splice(i, 1);
              draw();
            },
          },
          icon('close', 14),
        ),
      ),
      operation.how !== 'delete' &&
        h('textarea', {
          class: 'field mono',
          rows: '2',
          placeholder: 'Name=Ada\nAge:Int32=36',
          'aria-label': 'Properties, one a line',
          value: operation.text,
          oninput: event => {
            operation.text = event.target.value;
            check();
          },
        }),
      operation.note,
    );
  }

  function draw() {
    put(list, operations.map(drawOne));
    check();
  }

  async function send() {
    put(trouble);
    try {
      await api.sendBatch(
        table,
        operations.map(operation => ({
          how: operation.how,
          properties: read(operation).properties,
          partition: operation.partition,
          row: operation.row,
        })),
      );
      toast(`${plural(operations.length, 'operation')} done, all or none`);
      operations.length = 0;
      draw();
      refreshTree();
    } catch (error) {
      put(trouble, troubleBox(error));
      const failed = operations[error.failed];
      if (failed) {
        put(failed.note, `${error.code}: nothing of the batch was done.`);
        failed.node.classList.add('wrong');
      }
    }
  }

  add();
  return {
    nodes: h(
      'div',
      { class: 'pad' },
      h(
        'p',
        { class: 'soft' },
        'One transaction: all of it or nothing. At most 100 operations, 4 MiB, one partition.',
      ),
      meters,
      trouble,
      list,
      h(
        'div',
        { class: 'row' },
        h('button', { class: 'btn', onclick: () => add() }, icon('plus'), 'Add an operation'),
        h('span', { class: 'grow' }),
        sendButton,
      ),
    ),
  };
}
