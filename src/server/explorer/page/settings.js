// What is set for a whole service of an account: CORS, logs and metrics, the default version.

import { h, put, plural, toast } from './dom.js';
import * as api from './api.js';
import { tabs, topBar, troubleBox } from './frame.js';
import { link } from './route.js';
import { element, escapeXml } from './xml.js';

const SERVICES = { table: 'Tables', queue: 'Queues', blob: 'Blobs' };
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'MERGE', 'DELETE', 'OPTIONS'],
  RULES_MAX = 5,
  DAYS_MAX = 365;
const METRICS = { HourMetrics: 'Metrics of hours', MinuteMetrics: 'Metrics of minutes' };
const LISTS = {
  AllowedOrigins: ['Origins', 'https://app.example.org, http://*.contoso.com, *'],
  AllowedHeaders: ['Request headers', 'x-ms-*, content-type'],
  ExposedHeaders: ['Response headers', 'x-ms-*'],
};

const flag = (xml, path) => xml.textOf(path) === 'true';
const daysOf = xml =>
  flag(xml, 'RetentionPolicy/Enabled') ? xml.textOf('RetentionPolicy/Days') : '';
const retention = days =>
  element(
    'RetentionPolicy',
    days === '' ? element('Enabled', false) : element('Enabled', true) + element('Days', days),
  );

/** The parts of the document: each is read, and written alone, which leaves the others as they are. */
const PARTS = {
  Cors: {
    read: xml =>
      xml
        .find('Cors')
        .all('CorsRule')
        .map(rule => ({
          ...Object.fromEntries(Object.keys(LISTS).map(name => [name, rule.textOf(name)])),
          methods: rule.textOf('AllowedMethods').split(','),
          age: rule.textOf('MaxAgeInSeconds'),
        })),
    write: rules =>
      rules
        .map(rule =>
          element(
            'CorsRule',
            Object.keys(LISTS)
              .map(name => element(name, escapeXml(rule[name])))
              .join('') +
              element('AllowedMethods', rule.methods.join(',')) +
              element('MaxAgeInSeconds', rule.age),
          ),
        )
        .join(''),
  },
  Logging: {
    read: xml => {
      const part = xml.find('Logging');
      return {
        version: part.textOf('Version'),
        reads: flag(part, 'Read'),
        writes: flag(part, 'Write'),
        deletes: flag(part, 'Delete'),
        days: daysOf(part),
      };
    },
    write: part =>
      element('Version', part.version) +
      element('Read', part.reads) +
      element('Write', part.writes) +
      element('Delete', part.deletes) +
      retention(part.days),
  },
  ...Object.fromEntries(
    Object.keys(METRICS).map(name => [
      name,
      {
        read: xml => {
          const part = xml.find(name);
          return { on: flag(part, 'Enabled'), apis: flag(part, 'IncludeAPIs'), days: daysOf(part) };
        },
        write: part =>
          element('Version', '1.0') +
          element('Enabled', part.on) +
          (part.on ? element('IncludeAPIs', part.apis) : '') +
          retention(part.days),
      },
    ]),
  ),
  DefaultServiceVersion: { read: xml => xml.textOf('DefaultServiceVersion'), write: escapeXml },
};

const pathOf = kind => `${api.servicePath(kind)}/?restype=service&comp=properties`;
const headersOf = kind => (kind === 'table' ? { 'x-ms-version': '2019-02-02' } : {});
const partsOf = kind =>
  Object.keys(PARTS).filter(name => kind === 'blob' || name !== 'DefaultServiceVersion');

async function read(kind) {
  const xml = await api.serviceXml('GET', pathOf(kind), { headers: headersOf(kind) });
  return Object.fromEntries(partsOf(kind).map(name => [name, PARTS[name].read(xml)]));
}

// The service knows no condition for this: what somebody else has set since it was read is looked for before.
async function write(kind, before, now) {
  const stored = await read(kind);
  if (Object.keys(now).some(name => JSON.stringify(stored[name]) !== JSON.stringify(before[name])))
    throw api.changedMeanwhile();
  const body = element(
    'StorageServiceProperties',
    Object.entries(now)
      .map(([name, part]) => element(name, PARTS[name].write(part)))
      .join(''),
  );
  await api.service('PUT', pathOf(kind), {
    body,
    headers: { ...headersOf(kind), 'content-type': 'application/xml' },
  });
}

// --- fields ---

const check = (label, on, change) =>
  h(
    'label',
    { class: 'pick' },
    h('input', { type: 'checkbox', checked: on, onchange: event => change(event.target.checked) }),
    label,
  );
const line = (label, value, placeholder, change) =>
  h(
    'label',
    null,
    h('span', null, label),
    h('input', {
      class: 'field mono',
      type: 'text',
      value,
      placeholder,
      autocomplete: 'off',
      oninput: event => change(event.target.value.trim()),
    }),
  );
const days = (part, of) =>
  h(
    'label',
    { class: 'row' },
    'Kept for days',
    h('input', {
      class: 'field num short',
      type: 'number',
      min: 1,
      max: DAYS_MAX,
      step: 1,
      value: part.days,
      placeholder: 'for ever',
      'aria-label': `Days for which ${of} are kept`,
      oninput: event => {
        part.days = event.target.value;
      },
    }),
  );

function ruleCard(rules, i, draw) {
  const rule = rules[i];
  const move = () => {
    [rules[i - 1], rules[i]] = [rules[i], rules[i - 1]];
    draw(i - 1);
  };
  return h(
    'fieldset',
    { class: 'card io' },
    h('legend', { class: 'sr' }, `Rule ${i + 1}`),
    h(
      'div',
      { class: 'row' },
      h('h3', null, `Rule ${i + 1}`),
      h('span', { class: 'grow' }),
      i > 0 &&
        h(
          'button',
          {
            class: 'btn quiet small',
            type: 'button',
            'aria-label': `Move rule ${i + 1} up`,
            onclick: move,
          },
          'Up',
        ),
      h(
        'button',
        {
          class: 'btn quiet small',
          type: 'button',
          'aria-label': `Remove rule ${i + 1}`,
          onclick: () => {
            rules.splice(i, 1);
            draw(Math.max(0, i - 1));
          },
        },
        'Remove',
      ),
    ),
    h(
      'div',
      { class: 'pairs' },
      Object.entries(LISTS).map(([name, [label, placeholder]]) =>
        line(label, rule[name], placeholder, text => {
          rule[name] = text;
        }),
      ),
    ),
    h(
      'div',
      { role: 'group', 'aria-label': `Methods of rule ${i + 1}` },
      METHODS.map(method =>
        check(method, rule.methods.includes(method), on => {
          rule.methods = METHODS.filter(each =>
            each === method ? on : rule.methods.includes(each),
          );
        }),
      ),
    ),
    h(
      'label',
      { class: 'row' },
      'Browsers keep the answer for seconds',
      h('input', {
        class: 'field num short',
        type: 'number',
        min: 0,
        max: 2 ** 31 - 1,
        step: 1,
        required: true,
        value: rule.age,
        oninput: event => {
          rule.age = event.target.value;
        },
      }),
    ),
  );
}

function corsForm(rules, save) {
  const list = h('div');
  const add = h(
    'button',
    {
      class: 'btn',
      type: 'button',
      onclick: () => {
        rules.push({
          AllowedOrigins: '',
          AllowedHeaders: '*',
          ExposedHeaders: '*',
          methods: ['GET', 'HEAD', 'OPTIONS'],
          age: '600',
        });
        draw(rules.length - 1);
      },
    },
    'Add a rule',
  );
  function draw(focused) {
    add.disabled = rules.length >= RULES_MAX;
    put(
      list,
      rules.length === 0 &&
        h('p', { class: 'muted' }, 'No rule: pages of other sites may not ask this service.'),
      rules.map((_, i) => ruleCard(rules, i, draw)),
    );
    if (focused !== undefined)
      (list.querySelectorAll('fieldset')[focused]?.querySelector('input') || add).focus();
  }
  draw();
  return h(
    'form',
    { onsubmit: save },
    h('h2', null, 'CORS'),
    h(
      'p',
      { class: 'soft' },
      `Which pages of other sites may ask this service from a browser. The first rule that fits a request counts; up to ${plural(RULES_MAX, 'rule')}.`,
    ),
    list,
    h(
      'div',
      { class: 'row gapped' },
      add,
      h('button', { class: 'btn primary', type: 'submit' }, 'Save CORS'),
    ),
  );
}

function analyticsForm(kind, state, save) {
  const log = state.Logging;
  const version = h(
    'select',
    {
      class: 'field',
      'aria-label': 'Version of the logs',
      onchange: event => {
        log.version = event.target.value;
      },
    },
    ['1.0', '2.0'].map(each => h('option', { value: each }, each)),
  );
  version.value = log.version;
  return h(
    'form',
    { class: 'io', onsubmit: save },
    h('h2', null, 'Logs and metrics'),
    h(
      'p',
      { class: 'soft' },
      'Storage Analytics: logs of requests in the container $logs, sums in tables $Metrics…, both under Hidden in the tree.',
    ),
    h(
      'div',
      { class: 'row' },
      h('h3', null, 'Logs of'),
      check('reads', log.reads, on => {
        log.reads = on;
      }),
      check('writes', log.writes, on => {
        log.writes = on;
      }),
      check('deletes', log.deletes, on => {
        log.deletes = on;
      }),
      kind !== 'table' && h('label', { class: 'row' }, 'Version', version),
      days(log, 'logs'),
    ),
    Object.entries(METRICS).map(([name, title]) =>
      h(
        'div',
        { class: 'row' },
        h('h3', null, title),
        check('on', state[name].on, on => {
          state[name].on = on;
        }),
        check('with each operation', state[name].apis, on => {
          state[name].apis = on;
        }),
        days(state[name], title.toLowerCase()),
      ),
    ),
    h(
      'div',
      { class: 'row gapped' },
      h('button', { class: 'btn primary', type: 'submit' }, 'Save logs and metrics'),
    ),
  );
}

const versionForm = (state, save) =>
  h(
    'form',
    { onsubmit: save },
    h('h2', null, 'Default version'),
    h(
      'p',
      { class: 'soft' },
      'Requests without x-ms-version, as those of browsers, are answered as this version of the protocol does.',
    ),
    h(
      'div',
      { class: 'pairs' },
      line('Version', state.DefaultServiceVersion, '2021-12-02', text => {
        state.DefaultServiceVersion = text;
      }),
    ),
    h(
      'div',
      { class: 'row gapped' },
      h('button', { class: 'btn primary', type: 'submit' }, 'Save version'),
    ),
  );

export async function show(route) {
  const kind = SERVICES[route.parts[1]] ? route.parts[1] : 'table',
    before = await read(kind),
    state = structuredClone(before),
    trouble = h('div', { role: 'alert' });
  const saver =
    (done, ...names) =>
    async event => {
      event.preventDefault();
      put(trouble);
      const now = structuredClone(Object.fromEntries(names.map(name => [name, state[name]])));
      try {
        await write(kind, before, now);
        Object.assign(
          before,
          Object.fromEntries(
            Object.entries(await read(kind)).filter(([name]) => names.includes(name)),
          ),
        );
        toast(done);
      } catch (error) {
        put(trouble, troubleBox(error));
      }
    };
  return {
    nodes: [
      topBar('Service settings', api.currentAccount()),
      tabs(
        'Services',
        Object.entries(SERVICES).map(([id, name]) => [name, link('settings', id), id === kind]),
      ),
      h(
        'div',
        { class: 'pad settings' },
        trouble,
        corsForm(state.Cors, saver('CORS saved', 'Cors')),
        analyticsForm(
          kind,
          state,
          saver('Logs and metrics saved', 'Logging', ...Object.keys(METRICS)),
        ),
        kind === 'blob' && versionForm(state, saver('Version saved', 'DefaultServiceVersion')),
      ),
    ],
  };
}
