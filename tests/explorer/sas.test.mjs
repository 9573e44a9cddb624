// Shared access signatures: what the page makes and what it says of them, against the services.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { ask, before, close, go, makeTable, open, tablePath, test } from './page.mjs';
import { endpoints, sign } from './service.mjs';

const ACCOUNT = 'devstoreaccount1';
const policy = (id, fields) =>
  `<SignedIdentifiers><SignedIdentifier><Id>${id}</Id><AccessPolicy>${Object.entries(fields)
    .map(([name, value]) => `<${name}>${value}</${name}>`)
    .join('')}</AccessPolicy></SignedIdentifier></SignedIdentifiers>`;

before(async () => {
  const page = await open();
  await makeTable(page, 'Shared', ['a', 'm', 'z'], 3);
  await makeTable(page, 'Other', ['a'], 1);
  for (const path of [
    'queue/devstoreaccount1/jobs',
    'queue/devstoreaccount1/others',
    'blob/devstoreaccount1/photos?restype=container',
  ])
    await ask(page, 'PUT', `/api/${path}`);
  for (const name of ['a%20b/c.txt', 'd%20e/f.txt'])
    await ask(page, 'PUT', `/api/blob/devstoreaccount1/photos/${name}`, 'hello', {
      'x-ms-blob-type': 'BlockBlob',
      'content-type': 'text/plain',
    });
  await ask(
    page,
    'PUT',
    tablePath('Shared?comp=acl'),
    policy('whole', {
      Start: '2020-01-01T00:00:00Z',
      Expiry: '2099-01-01T00:00:00Z',
      Permission: 'r',
    }),
    { 'content-type': 'application/xml', 'x-ms-version': '2019-02-02' },
  );
  await close(page);
});

const load = (page, file) =>
  page.evaluateHandle(
    name => import(document.querySelector('script[src]').src.replace('shell.js', name)),
    file,
  );
const PAST = '2020-01-01T00:00:00Z',
  LATER = '2098-01-01T00:00:00Z',
  LAST = '2099-01-01T00:00:00Z';

// What a token has beside what all have (sv, sp=r, se); `_` is what is done to it afterwards.
const TOKENS = {
  table: [
    {},
    { sp: 'raud' },
    { sp: 'au' },
    { sp: 'u' },
    { sp: 'd' },
    { se: PAST },
    { st: LATER, se: LAST },
    { st: PAST },
    { spr: 'https' },
    { spr: 'https,http' },
    { spr: 'ftp' },
    { sip: '10.0.0.1' },
    { sip: '127.0.0.0-127.0.0.9' },
    { sp: '' },
    { se: '' },
    { se: 'soon' },
    { sv: '2015-04-05' },
    { sv: '2015-02-21' },
    { sv: 'yesterday' },
    { _: { sp: 'raud' } },
    { si: 'whole', sp: '', se: '' },
    { si: 'whole', se: '' },
    { si: 'whole', sp: '' },
    { si: 'nobody', sp: '', se: '' },
    { sp: 'rud', spk: 'b', epk: 'n' },
    { sp: 'rud', spk: 'm', srk: 'r00001', epk: 'm', erk: 'r00001' },
    { sp: 'rud', spk: 'm', srk: 'r00001' },
    { sp: 'rud', epk: 'm', erk: 'r00000' },
    { sp: 'r', srk: 'r' },
    { tn: 'shared' },
  ],
  queue: [{}, { sp: 'a' }, { sp: 'p' }, { sp: 'raup' }, { sp: 'u' }, { se: PAST }, { si: 'whole' }],
  blob: [
    { sr: 'c' },
    { sr: 'c', sp: 'rl' },
    { sr: 'c', sp: 'wd' },
    { sr: 'c', sp: 'c' },
    { sr: 'b' },
    { sr: 'b', sp: 'rwd' },
    { sr: 'b', sp: 'a' },
    { sr: 'x' },
    { sr: 'b', rsct: 'text/html' },
    { sr: 'b', _: { rsct: 'text/html' } },
    { sr: 'b', sv: '2015-04-05' },
    { sr: 'c', sv: '2018-11-09' },
  ],
  account: [
    { ss: 'bqt', srt: 'sco', sp: 'rwdlacup' },
    { ss: 't', srt: 'sco', sp: 'rl' },
    { ss: 'bq', srt: 'o', sp: 'rp' },
    { ss: 'bqt', srt: 's', sp: 'rl' },
    { ss: 'bqt', srt: 'co', sp: 'a' },
    { ss: 'bqt', srt: 'co', sp: 'wd' },
    { ss: 'bqt', srt: 'sco', sp: 'r', ses: 'x', sv: '2020-12-06' },
  ],
};
const entity = keys => `Shared(PartitionKey='${keys[0]}',RowKey='${keys[1]}')`;
const REQUESTS = {
  table: [
    'GET Shared()',
    'GET Other()',
    'GET shared()',
    `GET ${entity(['m', 'r00001'])}`,
    `GET ${entity(['a', 'r00001'])}`,
    `GET ${entity(['m', 'r00000'])}`,
    `GET ${entity(['z', 'r00002'])}`,
    'POST Shared',
    `PUT ${entity(['m', 'r00001'])} If-Match`,
    `PUT ${entity(['m', 'r00001'])}`,
    `PATCH ${entity(['m', 'r00001'])} If-Match`,
    `MERGE ${entity(['m', 'r00001'])}`,
    `DELETE ${entity(['m', 'no'])} If-Match`,
    'GET Tables',
    'POST Tables',
    "DELETE Tables('Nothing')",
    'GET Shared?comp=acl',
    'GET ?restype=service&comp=properties',
  ],
  queue: [
    'GET jobs/messages?peekonly=true',
    'GET jobs/messages',
    'GET others/messages',
    'POST jobs/messages',
    'DELETE jobs/messages',
    'PUT jobs/messages/x?popreceipt=x&visibilitytimeout=0',
    'DELETE jobs/messages/x?popreceipt=x',
    'GET jobs?comp=metadata',
    'PUT jobs?comp=metadata',
    'GET jobs?comp=acl',
    'GET ?comp=list',
    'PUT jobs',
  ],
  blob: [
    'GET photos/a%20b/c.txt',
    'HEAD photos/a%20b/c.txt',
    'GET photos/other.txt',
    'PUT photos/a%20b/c.txt',
    'DELETE photos/other.txt',
    'GET photos?restype=container&comp=list',
    'GET photos?restype=container',
    'GET photos?restype=container&comp=acl',
    'GET ?comp=list',
    'PUT photos/a%20b/c.txt?comp=metadata',
  ],
};

/** The service's error code for a request, '' when it was let in. */
async function askService(address, request, token) {
  const [method, target, condition] = request.split(' '),
    headers = {
      'x-ms-version': '2019-02-02',
      accept: 'application/json',
      ...(condition && { 'if-match': '*' }),
    };
  if (/^PUT photos\/[^?]*$/.test(`${method} ${target}`)) headers['x-ms-blob-type'] = 'BlockBlob';
  const hasBody = ['POST', 'PUT', 'PATCH', 'MERGE'].includes(method),
    isTable = address.isTable;
  if (isTable && hasBody) headers['content-type'] = 'application/json';
  const reply = await fetch(`${address.url}/${target}${target.includes('?') ? '&' : '?'}${token}`, {
      method,
      headers,
      body: hasBody
        ? isTable
          ? '{'
          : '<QueueMessage><MessageText>x</MessageText></QueueMessage>'
        : undefined,
    }),
    text = await reply.text();
  const code =
    reply.headers.get('x-ms-error-code') ||
    /"code":"([^"]+)"/.exec(text)?.[1] ||
    /<Code>([^<]+)/.exec(text)?.[1] ||
    '';
  return reply.status === 403 ||
    reply.status === 401 ||
    (code === 'InvalidQueryParameterValue' && /[?&]?si=/.test(token))
    ? code
    : '';
}

test('the explainer says of every request what the service answers, with its code', async () => {
  const page = await open(),
    text = await load(page, 'sas_text.js'),
    explain = await load(page, 'sas_explain.js'),
    at = await endpoints(page),
    cases = [];
  for (const [kind, tokens] of Object.entries(TOKENS)) {
    for (const { _, ...more } of tokens) {
      const fields = {
          sv: '2021-12-02',
          sp: 'r',
          se: LAST,
          ...(kind === 'table' && { tn: 'Shared' }),
          ...more,
        },
        place = {
          kind,
          account: ACCOUNT,
          container: { queue: 'jobs', blob: 'photos' }[kind] || '',
          blob: kind === 'blob' ? 'a b/c.txt' : '',
        };
      for (const name of Object.keys(fields)) if (fields[name] === '') delete fields[name];
      const sent = {
        ...fields,
        sig: sign(
          await text.evaluate(
            (module, [given, where]) => module.textToSign(given, where),
            [fields, place],
          ),
        ),
        ..._,
      };
      for (const service of kind === 'account' ? ['table', 'queue', 'blob'] : [kind])
        for (const request of REQUESTS[service])
          if (sent.sp !== 'c' || !/^PUT photos\/[^?]*$/.test(request))
            cases.push({
              place: { ...place, fields: sent, service },
              request,
              service,
              isRight: !_,
            });
    }
  }
  const policies = [
    { id: 'whole', start: '2020-01-01T00:00:00.0000000Z', expiry: LAST, letters: 'r' },
  ];
  const said = await explain.evaluate(
    (module, [all, services, stored]) =>
      all.map(({ place, request, service, isRight }) => {
        const [method, target, condition] = request.split(' ');
        return module.refusalOf(
          place,
          `${method} ${services[service]}/${target}${condition ? ' If-Match: *' : ''}`,
          {
            now: Date.now(),
            isSignatureRight: isRight,
            policies: place.kind === 'table' ? stored : [],
            address: '127.0.0.1',
            endpoints: services,
          },
        );
      }),
    [cases, at, policies],
  );
  const wrong = [];
  for (let i = 0; i < cases.length; i += 40) {
    await Promise.all(
      cases.slice(i, i + 40).map(async ({ place, request, service }, k) => {
        const token = Object.entries(place.fields)
            .map(([name, value]) => `${name}=${encodeURIComponent(value)}`)
            .join('&'),
          { code } = said[i + k];
        const answer = await askService(
          { url: at[service], isTable: service === 'table' },
          request,
          token,
        );
        if (request.startsWith('HEAD') ? Boolean(answer) !== Boolean(code) : answer !== code)
          wrong.push(
            `${JSON.stringify({ ...place.fields, sig: undefined })} ${request}: the page ${code || 'lets it in'} (${said[i + k].text}), the service ${answer || 'lets it in'}`,
          );
      }),
    );
  }
  assert.ok(cases.length > 700, String(cases.length));
  assert.deepEqual(wrong, []);
  await close(page);
});

test("the operations that the explainer knows are the server's", async () => {
  const page = await open(),
    known = await (await load(page, 'sas_explain.js')).evaluate(module => module.OPERATIONS);
  const rows = execFileSync(process.env.TAVOLAD, ['--operations'], { encoding: 'utf8' })
    .trim()
    .split('\n')
    .slice(1)
    .map(line => line.split('\t').slice(0, 9));
  const printed = rows.map(([service, name, path, method, comp, sas, ...more]) => [
    service,
    name,
    path,
    method,
    comp,
    sas === '-'
      ? '-'
      : sas
          .split(',')
          .map(word => word[0])
          .join(''),
    ...more,
  ]);
  const names = new Set(known.map(row => row[1]));
  assert.deepEqual(
    known,
    printed.filter(row => names.has(row[1])),
  );
  assert.deepEqual(
    printed.filter(row => !names.has(row[1]) && row[2] !== '-'),
    [],
  );
  await close(page);
});

const made = async page => {
  await page.waitForFunction(() => /sig=/.test(document.querySelector('.sasout pre')?.textContent));
  return (await page.textContent('.sasout pre')).trim();
};
const fetched = async (url, options) => {
  const reply = await fetch(url, options);
  return [reply.status, await reply.text(), reply.headers];
};

test('with the mouse: a signature for each service opens what it says and no more', async () => {
  const page = await open();
  await go(page, 'sas?t=Shared', '.sasform');
  assert.match(
    await page.getAttribute('.sruler', 'aria-label'),
    /Good at once, until .* in 8 hours/,
  );
  await page.fill('[data-name=spk]', 'm');
  await page.fill('[data-name=epk]', 'm');
  let url = await made(page);
  await page.waitForFunction(() =>
    /epk=m/.test(document.querySelector('.sasout pre')?.textContent),
  );
  url = await made(page);
  const [status, body] = await fetched(url.replace('?', '()?'), {
    headers: { accept: 'application/json;odata=nometadata' },
  });
  assert.deepEqual(
    [status, JSON.parse(body).value.map(each => each.PartitionKey)],
    [200, ['m', 'm', 'm']],
  );
  await page.click('.sasform .seg >> text=Queue');
  await page.fill('[data-name=name]', 'jobs');
  await page.waitForFunction(() =>
    /\/jobs\?/.test(document.querySelector('.sasout pre')?.textContent),
  );
  url = await made(page);
  assert.equal((await fetched(url.replace('?', '/messages?peekonly=true&')))[0], 200);
  assert.equal((await fetched(url.replace('?', '/messages?')))[0], 403);
  await page.click('.sasform .seg >> text=Blob');
  await page.fill('[data-name=name]', 'photos');
  await page.fill('[data-name=blob]', 'd e/f.txt');
  await page.click("summary:has-text('Addresses')");
  await page.fill('[data-name=rsct]', 'text/x-special');
  await page.fill('[data-name=sip]', '127.0.0.1-127.0.0.3');
  await page.waitForFunction(
    () =>
      /rsct=text%2Fx-special/.test(document.querySelector('.sasout pre')?.textContent) &&
      /sip=127.0.0.1-127.0.0.3/.test(document.querySelector('.sasout pre')?.textContent),
  );
  const [blobStatus, blobText, headers] = await fetched(await made(page));
  assert.deepEqual(
    [blobStatus, blobText, headers.get('content-type')],
    [200, 'hello', 'text/x-special'],
  );
  await page.click('.sasform .seg >> text=Account');
  await page.uncheck(".sasform fieldset >> nth=0 >> label:has-text('blobs') >> input");
  await page.check(".sasform fieldset >> nth=2 >> label:has-text('list') >> input");
  await page.waitForFunction(
    () =>
      /ss=qt/.test(document.querySelector('.sasout pre')?.textContent) &&
      /sp=rl/.test(document.querySelector('.sasout pre')?.textContent),
  );
  url = await made(page);
  const at = await endpoints(page),
    token = url.split('?')[1];
  assert.equal(
    (await fetched(`${at.table}/Tables?${token}`, { headers: { accept: 'application/json' } }))[0],
    200,
  );
  assert.equal((await fetched(`${at.queue}/?comp=list&${token}`))[0], 200);
  assert.match(
    (await fetched(`${at.blob}/?comp=list&${token}`))[1],
    /AuthorizationServiceMismatch/,
  );
  await close(page);
});

test('every version of a signature that is offered is taken by the service', async () => {
  const page = await open();
  await go(page, 'sas?t=Shared', '.sasform');
  await page.click("summary:has-text('Addresses')");
  for (const version of await page.$$eval('[data-name=sv] option', all =>
    all.map(each => each.value),
  )) {
    await page.selectOption('[data-name=sv]', version);
    await page.waitForFunction(
      wanted => document.querySelector('.sasout pre')?.textContent.includes(`sv=${wanted}`),
      version,
    );
    assert.equal(
      (
        await fetched((await made(page)).replace('?', '()?'), {
          headers: { accept: 'application/json' },
        })
      )[0],
      200,
      version,
    );
  }
  await close(page);
});

test('with the keyboard alone: make a signature with a policy, contradict it, explain it', async () => {
  const page = await open();
  await go(page, 'sas?t=Shared', '.sasout pre');
  const tabTo = async selector => {
    for (let i = 0; i < 80; i++) {
      if (await page.evaluate(wanted => document.activeElement?.matches(wanted), selector)) return;
      await page.keyboard.press('Tab');
    }
    assert.fail(`Tab does not come to ${selector}`);
  };
  await tabTo('fieldset[data-name=letters] input');
  await page.keyboard.press('Space');
  await page.waitForSelector('.sasout >> text=It allows nothing');
  assert.equal(await page.getAttribute('fieldset[data-name=letters]', 'aria-invalid'), 'true');
  await tabTo('[data-name=si]');
  await page.keyboard.type('whole');
  await tabTo('[data-name=se]');
  for (let i = 0; i < 6; i++) {
    await page.keyboard.press('Delete');
    await page.keyboard.press('ArrowRight');
  }
  await page.waitForFunction(
    () =>
      /si=whole/.test(document.querySelector('.sasout pre')?.textContent) &&
      !/[?&](se|sp)=/.test(document.querySelector('.sasout pre')?.textContent),
  );
  const url = await made(page);
  assert.equal(
    (await fetched(url.replace('?', '()?'), { headers: { accept: 'application/json' } }))[0],
    200,
  );
  await page.keyboard.press(']');
  await page.evaluate(() => document.activeElement.blur());
  await go(page, 'sas/explain', '.putbox');
  await tabTo('.putbox textarea');
  await page.keyboard.insertText(url);
  await page.waitForSelector('text=The signature is right.');
  assert.match(
    await page.textContent('.putbox'),
    /May read entities of Shared from 2020-01-01 .* until 2099-01-01/,
  );
  await tabTo('.putbox input');
  await page.keyboard.insertText("DELETE /Shared(PartitionKey='a',RowKey='r00000')");
  await page.waitForSelector('text=403 AuthorizationPermissionMismatch');
  assert.match(await page.textContent('.verdictline'), /DELETE needs d, and the SAS has r\./);
  assert.equal(await page.getAttribute('.putbox > [aria-live]', 'aria-live'), 'polite');
  assert.doesNotMatch(page.url(), /sig/);
  await close(page);
});
