// Stored access policies of a table, a queue or a container, and who may read a container without any.

import { h, put, icon } from './dom.js';
import * as api from './api.js';
import { SERVICES } from './sas_text.js';
import { element, escapeXml, parseXml } from './xml.js';

const POLICIES_MAX = 5;
const HEADERS = { 'x-ms-version': '2019-02-02' },
  PUBLIC = 'x-ms-blob-public-access';

const pathOf = (kind, name) =>
  `${api.servicePath(kind)}/${encodeURIComponent(name)}?${kind === 'blob' ? 'restype=container&' : ''}comp=acl`;

const policyOf = xml => ({
  id: xml.textOf('Id'),
  start: xml.textOf('AccessPolicy/Start'),
  expiry: xml.textOf('AccessPolicy/Expiry'),
  letters: xml.textOf('AccessPolicy/Permission'),
});

const xmlOf = ({ id, start, expiry, letters }) =>
  element(
    'SignedIdentifier',
    element('Id', escapeXml(id)) +
      element(
        'AccessPolicy',
        (start && element('Start', start)) +
          (expiry && element('Expiry', expiry)) +
          (letters && element('Permission', letters)),
      ),
  );

/** {policies, level}; `level`, of a container: '' private, 'blob', 'container'. */
export async function readAccess(kind, name) {
  const reply = await api.service('GET', pathOf(kind, name), { headers: HEADERS });
  return {
    level: reply.headers.get(PUBLIC) || '',
    policies: parseXml(await reply.text())
      .all('SignedIdentifier')
      .map(policyOf),
  };
}

// The service knows no condition for this: what somebody else has set since it was read is looked for before.
/** Set both, if they are still what was read; what is stored then. */
export async function writeAccess(kind, name, before, { policies, level }) {
  if (JSON.stringify(await readAccess(kind, name)) !== JSON.stringify(before))
    throw api.changedMeanwhile();
  const body = `<?xml version="1.0" encoding="utf-8"?>${element('SignedIdentifiers', policies.map(xmlOf).join(''))}`;
  await api.service('PUT', pathOf(kind, name), {
    body,
    headers: { ...HEADERS, 'content-type': 'application/xml', ...(level && { [PUBLIC]: level }) },
  });
  return readAccess(kind, name);
}

const local = text => (text ? text.replace(/(:\d\d)\.\d+Z$/, '$1Z').replace(/Z$/, '') : '');
const utc = text => (text ? `${text.length === 16 ? `${text}:00` : text}Z` : '');

/** {list, add}: a table in which `policies` are changed in place, and a button for one more. */
export function policyEditor(kind, policies) {
  const { letters } = SERVICES[kind],
    body = h('tbody');
  const add = h(
    'button',
    {
      class: 'btn',
      onclick: () => {
        policies.push({ id: `policy${policies.length + 1}`, start: '', expiry: '', letters: 'r' });
        draw();
        body.querySelector('tr:last-child input').select();
      },
    },
    icon('plus'),
    'Add a policy',
  );
  const time = (policy, i, field, name) =>
    h('input', {
      class: 'field',
      type: 'datetime-local',
      step: '1',
      'aria-label': `${name} of policy ${i + 1}, UTC`,
      value: local(policy[field]),
      onchange: event => {
        policy[field] = utc(event.target.value);
      },
    });
  const pick = (policy, letter, word) =>
    h(
      'label',
      { class: 'pick' },
      h('input', {
        type: 'checkbox',
        checked: policy.letters.includes(letter),
        onchange: event => {
          policy.letters = Object.keys(letters)
            .filter(each =>
              each === letter ? event.target.checked : policy.letters.includes(each),
            )
            .join('');
        },
      }),
      word,
    );
  const remove = i => {
    policies.splice(i, 1);
    draw();
    (body.querySelectorAll('button')[Math.max(0, i - 1)] || add).focus();
  };

  function draw() {
    add.disabled = policies.length >= POLICIES_MAX;
    put(
      body,
      policies.map((policy, i) =>
        h(
          'tr',
          null,
          h(
            'td',
            { 'data-name': 'Name' },
            h('input', {
              class: 'field mono',
              'aria-label': `Name of policy ${i + 1}`,
              value: policy.id,
              oninput: event => {
                policy.id = event.target.value;
              },
            }),
          ),
          h(
            'td',
            { 'data-name': 'May' },
            Object.entries(letters).map(([letter, word]) => pick(policy, letter, word)),
          ),
          h('td', { 'data-name': 'From' }, time(policy, i, 'start', 'Start')),
          h('td', { 'data-name': 'Until' }, time(policy, i, 'expiry', 'Expiry')),
          h(
            'td',
            null,
            h(
              'button',
              {
                class: 'btn quiet small',
                'aria-label': `Remove policy ${i + 1}`,
                onclick: () => remove(i),
              },
              icon('close', 14),
            ),
          ),
        ),
      ),
      policies.length === 0 &&
        h(
          'tr',
          null,
          h(
            'td',
            { colspan: '5', class: 'muted' },
            'No policy: every signature carries its own rights and times.',
          ),
        ),
    );
  }

  draw();
  return {
    add,
    list: h(
      'div',
      { class: 'scrollx' },
      h(
        'table',
        { class: 'list stack many' },
        h(
          'thead',
          null,
          h(
            'tr',
            null,
            ['Name', 'May', 'From', 'Until', ''].map(name =>
              h('th', { scope: 'col' }, name || h('span', { class: 'sr' }, 'Actions')),
            ),
          ),
        ),
        body,
      ),
    ),
  };
}
