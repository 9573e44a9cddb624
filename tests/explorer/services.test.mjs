// Queues and blobs, and what is set for a whole service.

import assert from 'node:assert/strict';
import { ask, close, eventually, go, open, test, toastSays, tool, violations } from './page.mjs';
import { endpoints } from './service.mjs';

const queuePath = rest => `/api/queue/devstoreaccount1/${rest}`;
const makeQueue = (page, name) => ask(page, 'PUT', queuePath(name));
const putText = (page, queue, text) =>
  ask(
    page,
    'POST',
    queuePath(`${queue}/messages`),
    `<QueueMessage><MessageText>${text}</MessageText></QueueMessage>`,
  );
const stored = async (page, queue) =>
  [
    ...(
      await ask(page, 'GET', queuePath(`${queue}/messages?peekonly=true&numofmessages=32`))
    ).text.matchAll(/<MessageText>(.*?)<\/MessageText>/g),
  ].map(found => found[1]);
const texts = (page, where = 'main') =>
  page.$$eval(`${where} pre.cell`, all => all.map(each => each.textContent));

test('a queue is put into, peeked and cleared', async () => {
  const page = await open();
  await makeQueue(page, 'errands');
  await go(page, 'q/errands', '.putbox');
  await page.fill('.putbox textarea', '<b>hello</b>');
  await page.click('.putbox >> text=/^Put$/');
  await page.waitForSelector("pre.cell:has-text('<b>hello</b>')");
  await page.fill('.putbox textarea', 'later');
  await page.fill('.putbox >> text=Hidden for seconds >> input', '600');
  await page.click('.putbox >> text=/^Put$/');
  await toastSays(page, /Message put/);
  await page.waitForFunction(() =>
    /2 messages, 1 visible, 1 being worked on/.test(document.querySelector('.facts').textContent),
  );
  await page.click('text=/^Clear$/');
  await page.click('dialog .danger');
  await page.waitForSelector('text=No message.');
  await close(page);
});

test('message encoding is one setting, in the page and in the tool', async () => {
  const page = await open();
  await makeQueue(page, 'coded');
  await go(page, 'q/coded', '.putbox');
  assert.equal(
    await page.textContent("[aria-label='Message encoding'] [aria-pressed=true]"),
    'text',
  );
  await page.click("[aria-label='Message encoding'] >> text=base64");
  await page.fill('.putbox textarea', '{"grüß": [1]}');
  await page.click('.putbox >> text=/^Put$/');
  await page.waitForSelector("pre.cell:has-text('grüß')");
  assert.deepEqual(await stored(page, 'coded'), [Buffer.from('{"grüß": [1]}').toString('base64')]);
  await page.click('text=Indent JSON');
  assert.deepEqual(await texts(page), ['{\n  "grüß": [\n    1\n  ]\n}']);
  await tool(['message', 'put', 'coded', 'of the tool', '--encoding', 'base64']);
  await tool(['message', 'put', 'coded', 'plain!', '--encoding', 'text']);
  await tool(['message', 'put', 'coded', '-', '--encoding', 'base64'], 'nul\0');
  await eventually(async () =>
    assert.deepEqual((await texts(page)).slice(1), [
      'of the tool',
      'plain!',
      Buffer.from('nul\0').toString('base64'),
    ]),
  );
  assert.deepEqual(
    await page.$$eval('main tbody tr', rows =>
      rows.map(row => row.querySelector('.chip')?.textContent),
    ),
    [undefined, undefined, 'not base64', 'bytes, not text'],
  );
  await page.waitForSelector('text=1 of 4 are not base64');
  const said = (
    await tool([
      'message',
      'peek',
      'coded',
      '-n',
      '2',
      '--encoding',
      'base64',
      '--select',
      'Text',
      '-o',
      'value',
    ])
  ).split('\n');
  assert.deepEqual(said, ['{"grüß": [1]}', 'of the tool', '']);
  // It is kept, for every queue.
  await makeQueue(page, 'other');
  await go(page, 'q/other', '.putbox');
  assert.equal(
    await page.textContent("[aria-label='Message encoding'] [aria-pressed=true]"),
    'base64',
  );
  await go(page, 'q/coded', '.putbox');
  await page.click("[aria-label='Message encoding'] >> text=text");
  await page.waitForSelector('text=2 of 4 look like base64.');
  assert.deepEqual(await texts(page), await stored(page, 'coded'));
  await close(page);
});

test('messages are dequeued, deleted and put back', async () => {
  const page = await open({ expected: [/404/] }); // one of them is deleted before
  await makeQueue(page, 'work');
  for (let i = 1; i <= 5; i++) await putText(page, 'work', `job ${i}`);
  await go(page, 'q/work', '.taken');
  await page.fill('.taken >> text=Messages >> input', '3');
  await page.fill('.taken >> text=hidden for seconds >> input', '3600');
  await page.click('.taken >> text=/^Dequeue$/ >> nth=1');
  await toastSays(page, /3 messages dequeued/);
  await eventually(async () =>
    assert.deepEqual(await texts(page), ['job 4', 'job 5', 'job 1', 'job 2', 'job 3']),
  );
  assert.deepEqual(await violations(page), []);
  await page.click("[aria-label='Delete message 1']");
  await toastSays(page, /1 message deleted/);
  await page.click("[aria-label='Put back message 2']");
  await toastSays(page, /1 message put back/);
  await eventually(async () =>
    assert.deepEqual(
      [await texts(page, '.taken'), (await stored(page, 'work')).sort()],
      [['job 2'], ['job 3', 'job 4', 'job 5']],
    ),
  );
  // Somebody else has deleted it meanwhile: that is said, and nothing else happens.
  await ask(page, 'DELETE', queuePath('work/messages'));
  await page.click('.taken >> text=Delete all of these');
  await toastSays(page, /1 message not deleted: hidden no longer/);
  assert.deepEqual(await texts(page, '.taken'), []);
  await page.click('.taken >> text=/^Dequeue$/ >> nth=1');
  await toastSays(page, /No message is visible/);
  await close(page);
});

const blobPath = rest => `/api/blob/devstoreaccount1/${rest}`;
const makeContainer = (page, name) => ask(page, 'PUT', blobPath(`${name}?restype=container`));
const putBlob = (page, name, text, headers = {}) =>
  ask(page, 'PUT', blobPath(name), text, {
    'x-ms-blob-type': 'BlockBlob',
    'x-ms-blob-content-type': 'text/plain',
    ...headers,
  });
const textOf = async (page, name) => (await ask(page, 'GET', blobPath(name))).text;
/** What the service says of a blob, and of its snapshots, in XML. */
const listed = async (page, container, name) =>
  (
    await ask(
      page,
      'GET',
      blobPath(
        `${container}?restype=container&comp=list&include=metadata,snapshots&prefix=${name}`,
      ),
    )
  ).text;

test('the text of a blob is changed, and what it has besides stays', async () => {
  const page = await open({ expected: [/412/] });
  await makeContainer(page, 'texts');
  await putBlob(page, 'texts/notes/a.md', 'one\r\ntwo\r\n', {
    'x-ms-blob-content-type': 'text/markdown',
    'x-ms-blob-cache-control': 'max-age=7',
    'x-ms-meta-ReviewedBy': 'Ada',
  });
  await go(page, 'c/texts/notes/', '.list');
  await page.click(".list a:text-is('a.md')");
  await page.waitForSelector('textarea.text');
  assert.equal(await page.inputValue('textarea.text'), 'one\ntwo\n');
  await page.fill('textarea.text', 'one\nzwei größer\n');
  await page.waitForSelector('text=Not saved');
  await page.press('textarea.text', 'Control+s');
  await toastSays(page, /Saved/);
  assert.equal(await textOf(page, 'texts/notes/a.md'), 'one\r\nzwei größer\r\n');
  const after = await listed(page, 'texts', 'notes/');
  assert.match(
    after,
    /<Content-Type>text\/markdown<\/Content-Type>.*<Cache-Control>max-age=7<\/Cache-Control>.*<ReviewedBy>Ada<\/ReviewedBy>/s,
  );
  // Again, without reading it: the page knows the ETag of what it wrote.
  await page.fill('textarea.text', 'three\n');
  await page.click('text=/^Save/ >> nth=0');
  await toastSays(page, /Saved/);
  // Somebody else is faster: nothing is lost on either side until one is chosen.
  await putBlob(page, 'texts/notes/a.md', 'theirs\n');
  await page.fill('textarea.text', 'mine\n');
  await page.press('textarea.text', 'Control+s');
  await page.waitForSelector('text=It has been changed since it was read');
  assert.equal(await textOf(page, 'texts/notes/a.md'), 'theirs\n');
  assert.equal(await page.inputValue('textarea.text'), 'mine\n');
  await page.click('text=Write mine over it');
  await page.click('dialog .danger');
  await toastSays(page, /Saved/);
  assert.equal(await textOf(page, 'texts/notes/a.md'), 'mine\r\n');
  // What is typed waits for whoever comes back.
  await page.fill('textarea.text', 'half a sent');
  await go(page, 'c/texts/notes/', '.list');
  await page.goBack();
  await page.waitForSelector('text=Not saved');
  assert.equal(await page.inputValue('textarea.text'), 'half a sent');
  await close(page);
});

test('what a text field would change is not offered to be changed', async () => {
  const page = await open();
  await makeContainer(page, 'odd');
  const odd = {
    'mixed.txt': 'a\r\nb\nc',
    'old-mac.txt': 'a\rb',
    'zip.txt': ['plain', { 'x-ms-blob-content-encoding': 'identity' }],
    'latin.txt': ['a', { 'x-ms-blob-content-type': 'text/plain; charset=iso-8859-1' }],
  };
  for (const [name, given] of Object.entries(odd))
    await putBlob(page, `odd/${name}`, ...[given].flat());
  await page.evaluate(
    async ([path, word]) => {
      await fetch(path, {
        method: 'PUT',
        body: new Uint8Array([0x66, 0xfc, 0x72]),
        headers: { 'x-tavola-page': word, 'x-ms-blob-type': 'BlockBlob' },
      });
    },
    [blobPath('odd/no-utf8.txt'), await page.evaluate(() => localStorage.getItem('tavola.page'))],
  );
  await ask(page, 'PUT', blobPath('odd/log.txt'), '', { 'x-ms-blob-type': 'AppendBlob' });
  for (const [name, why] of [
    ['mixed.txt', /end in different ways/],
    ['old-mac.txt', /end in different ways/],
    ['zip.txt', /stored as identity/],
    ['latin.txt', /not UTF-8/],
    ['no-utf8.txt', /not UTF-8/],
    ['log.txt', /Only block blobs/],
  ]) {
    await go(page, `b/odd/${name}`, '.whole');
    assert.match(await page.textContent('main .pad > section'), why, name);
  }
  await close(page);
});

test('properties and metadata of a blob are changed, each leaving the other alone', async () => {
  const page = await open({ expected: [/412/] });
  await makeContainer(page, 'props');
  await putBlob(page, 'props/a.txt', 'text', { 'x-ms-meta-Team': 'red' });
  await go(page, 'b/props/a.txt', 'textarea.text');
  const md5 = /<Content-MD5>(.+?)<\/Content-MD5>/.exec(await listed(page, 'props', 'a'))[1];
  await page.fill("[aria-label='Content-Type']", 'application/json');
  await page.fill("[aria-label='Cache-Control']", 'no-cache');
  await page.click('text=Save properties');
  await toastSays(page, /Properties saved/);
  assert.ok((await listed(page, 'props', 'a')).includes(md5), 'the digest is kept');
  await page.click('main >> text=/^Add$/');
  await page.keyboard.type('1st');
  await page.keyboard.press('Tab');
  await page.keyboard.type('Grace Hopper');
  await page.click('text=Save metadata');
  await page.waitForSelector('text=begins with no digit');
  await page.fill("[aria-label='Name 2']", 'firstOwner');
  await page.click('text=Save metadata');
  await toastSays(page, /Metadata saved/);
  assert.match(
    await listed(page, 'props', 'a'),
    /<Content-Type>application\/json<.*<Cache-Control>no-cache<.*<Metadata><Team>red<\/Team><firstOwner>Grace Hopper<\/firstOwner>/s,
  );
  await page.fill('textarea.text', 'new text');
  await page.press('textarea.text', 'Control+s');
  await toastSays(page, /Saved/);
  await page.click("[aria-label='Remove Team']");
  await page.click('text=Save metadata');
  await toastSays(page, /Metadata saved/);
  await page.fill("[aria-label='Cache-Control']", '');
  await page.click('text=Save properties');
  await toastSays(page, /Properties saved/);
  const text = await listed(page, 'props', 'a'),
    digest = await page.textContent("dl dt:text-is('Content-MD5') + dd");
  assert.ok(
    text.includes(`<Content-MD5>${digest}</Content-MD5>`) && digest !== md5,
    'the digest is that of the new text',
  );
  assert.match(text, /<Metadata><firstOwner>Grace Hopper<\/firstOwner><\/Metadata>/);
  assert.doesNotMatch(text, /no-cache/);
  // Changed by somebody else: nothing is written over it.
  await ask(page, 'PUT', blobPath('props/a.txt?comp=metadata'), undefined, {
    'x-ms-meta-theirs': '1',
  });
  await page.fill("[aria-label='Value 1']", 'somebody');
  await page.click('text=Save metadata');
  await page.click('text=Read it again');
  await page.waitForFunction(
    () => document.querySelector("[aria-label='Name 1']").value === 'theirs',
  );
  await close(page);
});

test('snapshots are taken, opened, promoted and deleted', async () => {
  const page = await open({ expected: [/409/] });
  await makeContainer(page, 'shots');
  await putBlob(page, 'shots/a.txt', 'first', { 'x-ms-meta-n': '1' });
  await putBlob(page, 'shots/a.txt.bak', 'another');
  await go(page, 'b/shots/a.txt', 'textarea.text');
  await page.click('text=Take a snapshot');
  await page.waitForSelector('text=1 snapshot');
  await page.fill('textarea.text', 'second');
  await page.press('textarea.text', 'Control+s');
  await toastSays(page, /Saved/);
  await page.click('text=Take a snapshot');
  await page.waitForSelector('text=2 snapshots');
  assert.deepEqual(await violations(page), []);
  await page.click('.list tbody tr:nth-child(2) a');
  await page.waitForSelector('text=A snapshot, as it was then.');
  assert.equal(await page.textContent('.whole'), 'first');
  assert.equal(await page.locator('text=Save metadata').count(), 0);
  await page.click('.list tbody tr:nth-child(2) >> text=Promote');
  await page.click('dialog .danger');
  await page.waitForSelector('textarea.text');
  assert.equal(await page.inputValue('textarea.text'), 'first');
  assert.equal(await textOf(page, 'shots/a.txt'), 'first');
  await page.click('.list tbody tr:nth-child(1) >> text=Delete');
  await page.click('dialog .danger');
  await page.waitForSelector('text=1 snapshot');
  await page.click('text=Delete blob');
  await page.click('dialog .danger');
  await page.click('dialog >> text=Delete all');
  await page.waitForSelector(".list a:text-is('a.txt.bak')");
  assert.equal(await page.locator(".list a:text-is('a.txt')").count(), 0);
  assert.doesNotMatch(await listed(page, 'shots', 'a.txt'), /<Name>a\.txt<\/Name>/);
  await close(page);
});

const PROPERTIES = '?restype=service&comp=properties';
const settingsOf = async (page, kind) =>
  (await ask(page, 'GET', `/api/${kind}/devstoreaccount1/${PROPERTIES}`)).text;
const rule = (page, number) => page.locator('fieldset.card').nth(number - 1);

/** What lists say of the metadata of a queue or a container, and what its ACL says. */
const metadataOf = async (page, kind, name) =>
  /<Metadata>(.*?)<\/Metadata>/.exec(
    (
      await ask(
        page,
        'GET',
        `/api/${kind}/devstoreaccount1/?comp=list&include=metadata&prefix=${name}`,
      )
    ).text,
  )?.[1] || '';
const aclOf = async (page, kind, name) =>
  page.evaluate(
    async ([path, word]) => {
      const reply = await fetch(path, {
        headers: { 'x-tavola-page': word, 'x-ms-version': '2021-12-02' },
      });
      return { text: await reply.text(), level: reply.headers.get('x-ms-blob-public-access') };
    },
    [
      `/api/${kind}/devstoreaccount1/${name}?${kind === 'blob' ? 'restype=container&' : ''}comp=acl`,
      await page.evaluate(() => localStorage.getItem('tavola.page')),
    ],
  );

test('metadata and stored policies of a queue are shown and set', async () => {
  const page = await open();
  await makeQueue(page, 'errands2'); // whose name only begins like the other's
  await ask(page, 'PUT', queuePath('errands'));
  await ask(page, 'PUT', queuePath('errands?comp=metadata'), undefined, {
    'x-ms-meta-OwnedBy': 'Ada',
  });
  await go(page, 'q/errands', '.putbox');
  await page.click('.tabs >> text=Metadata and access');
  await page.waitForSelector("[aria-label='Name 1']");
  assert.deepEqual(
    [
      await page.inputValue("[aria-label='Name 1']"),
      await page.inputValue("[aria-label='Value 1']"),
    ],
    ['OwnedBy', 'Ada'],
  );
  assert.deepEqual(await violations(page), []);
  await page.click('main form >> text=/^Add$/');
  await page.keyboard.type('Team');
  await page.fill("[aria-label='Value 2']", 'Shipping');
  await page.click('text=Save metadata');
  await toastSays(page, /Metadata saved/);
  assert.match(
    await metadataOf(page, 'queue', 'errands'),
    /<OwnedBy>Ada<\/OwnedBy>.*<Team>|<Team>Shipping<\/Team>.*<OwnedBy>/,
  );
  // Again, without reading it in between.
  await page.click("[aria-label='Remove OwnedBy']");
  await page.click('text=Save metadata');
  await toastSays(page, /Metadata saved/);
  assert.equal(await metadataOf(page, 'queue', 'errands'), '<Team>Shipping</Team>');
  await page.click('text=Add a policy');
  await page.fill("[aria-label='Name of policy 1']", 'workers');
  await page.click("tr:has([aria-label='Name of policy 1']) >> text=get and delete");
  await page.fill("[aria-label='Expiry of policy 1, UTC']", '2030-01-01T00:00:01');
  await page.click('main >> text=/^Save$/');
  await toastSays(page, /Policies saved/);
  assert.match(
    (await aclOf(page, 'queue', 'errands')).text,
    /<Id>workers<\/Id>.*2030-01-01T00:00:01.*<Permission>rp<\/Permission>/,
  );
  await page.click("[aria-label='Remove policy 1']");
  await page.click('main >> text=/^Save$/');
  await toastSays(page, /Policies saved/);
  assert.doesNotMatch((await aclOf(page, 'queue', 'errands')).text, /workers/);
  // Somebody else was faster: nothing is written.
  await ask(page, 'PUT', queuePath('errands?comp=metadata'), undefined, {
    'x-ms-meta-Team': 'Returns',
  });
  await page.fill("[aria-label='Value 1']", 'Mine');
  await page.click('text=Save metadata');
  await page.waitForSelector('text=Somebody else has changed this');
  assert.equal(await metadataOf(page, 'queue', 'errands'), '<Team>Returns</Team>');
  assert.equal(await page.getAttribute('#tree [aria-current]', 'href'), '#/q/errands');
  await close(page);
});

test('metadata, public access and stored policies of a container are shown and set', async () => {
  const page = await open(),
    { blob } = await endpoints(page);
  const asStranger = async path => (await fetch(`${blob}/${path}`)).ok;
  await ask(page, 'PUT', blobPath('shelf?restype=container'), undefined, {
    'x-ms-meta-Kind': 'books',
  });
  await putBlob(page, 'shelf/a.txt', 'hello');
  await go(page, 'c/shelf', '.list');
  await page.click('.tabs >> text=Metadata and access');
  await page.waitForSelector("[aria-label='Name 1']");
  assert.equal(await page.inputValue("[aria-label='Value 1']"), 'books');
  await page.fill("[aria-label='Value 1']", 'maps');
  await page.press("[aria-label='Value 1']", 'Enter');
  await toastSays(page, /Metadata saved/);
  assert.equal(await metadataOf(page, 'blob', 'shelf'), '<Kind>maps</Kind>');
  assert.deepEqual(
    [await asStranger('shelf/a.txt'), await asStranger('shelf?restype=container&comp=list')],
    [false, false],
  );
  await page.click('text=Everybody may read a blob');
  await page.click('text=Add a policy');
  await page.click('text=Save access');
  await toastSays(page, /Access saved/);
  assert.deepEqual(
    [await asStranger('shelf/a.txt'), await asStranger('shelf?restype=container&comp=list')],
    [true, false],
  );
  // A policy that goes leaves the public access as it is.
  await page.click("[aria-label='Remove policy 1']");
  await page.click('text=Save access');
  await toastSays(page, /Access saved/);
  const { text, level } = await aclOf(page, 'blob', 'shelf');
  assert.deepEqual([level, /policy1/.test(text)], ['blob', false]);
  await page.click('text=Everybody may list');
  await page.click('text=Save access');
  await toastSays(page, /Access saved/);
  assert.equal(await asStranger('shelf?restype=container&comp=list'), true);
  await page.reload();
  await page.waitForSelector("[aria-label='Public access'] :checked");
  assert.match(await page.textContent('label:has(:checked)'), /Everybody may list/);
  await page.click('text=Nobody without the key');
  await page.click('text=Save access');
  await toastSays(page, /Access saved/);
  assert.equal(await asStranger('shelf/a.txt'), false);
  assert.equal(await page.getAttribute('#tree [aria-current]', 'href'), '#/c/shelf');
  await close(page);
});

test('CORS rules of a service are set, and browsers are answered by them', async () => {
  const page = await open({ expected: [/400/] });
  const { queue } = await endpoints(page);
  await go(page, 'account', '.list, .muted');
  await page.click('text=Service settings');
  await page.click('.tabs >> text=Queues');
  await page.waitForSelector('text=No rule: pages of other sites may not ask this service.');
  await page.click('text=Add a rule');
  await page.keyboard.type('http://one.example, http://two.example');
  await rule(page, 1).locator('text=/^PUT$/').click();
  await page.click('text=Add a rule');
  await page.keyboard.type('*');
  await page.click('text=Save CORS');
  await toastSays(page, /CORS saved/);
  assert.deepEqual(await violations(page), []);
  const preflight = (origin, method) =>
    fetch(`${queue}/any`, {
      method: 'OPTIONS',
      headers: { origin, 'access-control-request-method': method },
    }).then(reply => reply.status);
  assert.deepEqual(
    [
      await preflight('http://two.example', 'PUT'),
      await preflight('http://three.example', 'PUT'),
      await preflight('http://three.example', 'GET'),
    ],
    [200, 403, 200],
  );
  // A mistake is told in the service's words, and nothing is set.
  const before = await settingsOf(page, 'queue');
  await rule(page, 2).locator("label:has-text('Origins') input").fill('');
  await page.click('text=Save CORS');
  await page.waitForSelector('.trouble >> text=InvalidXmlNodeValue');
  assert.equal(await settingsOf(page, 'queue'), before);
  await page.click("[aria-label='Remove rule 1']");
  await rule(page, 1).locator("label:has-text('Origins') input").fill('http://three.example');
  await page.click('text=Save CORS');
  await toastSays(page, /CORS saved/);
  assert.deepEqual(
    [await preflight('http://two.example', 'GET'), await preflight('http://three.example', 'GET')],
    [403, 200],
  );
  // Somebody else has been there since it was read.
  await ask(
    page,
    'PUT',
    `/api/queue/devstoreaccount1/${PROPERTIES}`,
    '<StorageServiceProperties><Cors /></StorageServiceProperties>',
  );
  await page.click('text=Save CORS');
  await page.waitForSelector('text=Somebody else has changed this since it was read');
  assert.equal(await preflight('http://three.example', 'GET'), 403);
  await close(page);
});

test('logs, metrics and the default version are set, each leaving the rest alone', async () => {
  const page = await open();
  for (const kind of ['table', 'queue', 'blob']) {
    await ask(
      page,
      'PUT',
      `/api/${kind}/devstoreaccount1/${PROPERTIES}`,
      '<StorageServiceProperties><Cors><CorsRule><AllowedOrigins>http://kept.example</AllowedOrigins><AllowedMethods>GET</AllowedMethods><AllowedHeaders /><ExposedHeaders /><MaxAgeInSeconds>1</MaxAgeInSeconds></CorsRule></Cors></StorageServiceProperties>',
    );
    await go(page, `settings/${kind}`, '.settings form');
    await page.click('text=/^writes$/');
    await page.fill("[aria-label='Days for which logs are kept']", '7');
    await page.click(".settings .row:has(h3:text-is('Metrics of minutes')) >> text=/^on$/");
    await page.click('text=Save logs and metrics');
    await toastSays(page, /Logs and metrics saved/);
    const text = await settingsOf(page, kind);
    assert.match(
      text,
      /<Logging>.*<Read>false<\/Read><Write>true<\/Write>.*<Days>7<\/Days>.*<\/Logging>/s,
    );
    assert.match(
      text,
      /<MinuteMetrics>.*<Enabled>true<\/Enabled><IncludeAPIs>false<\/IncludeAPIs>/s,
    );
    assert.match(text, /http:\/\/kept\.example/);
    assert.equal(await page.locator('text=Default version').count(), kind === 'blob' ? 1 : 0);
  }
  await page.fill("label:has(span:text-is('Version')) input", '2019-12-12');
  await page.click('text=Save version');
  await toastSays(page, /Version saved/);
  assert.match(await settingsOf(page, 'blob'), /<DefaultServiceVersion>2019-12-12<.*/s);
  await page.reload();
  await page.waitForSelector('.settings form');
  assert.deepEqual(
    [
      await page.inputValue("[aria-label='Days for which logs are kept']"),
      await page.inputValue("label:has(span:text-is('Version')) input"),
    ],
    ['7', '2019-12-12'],
  );
  await close(page);
});
