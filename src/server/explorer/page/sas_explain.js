// Why a request would be refused with a shared access signature: what the server looks at, in its order.

import { decoded, urlOf } from './address.js';
import { when } from './sas_text.js';

/**
 * service, operation, path, methods, comp, kinds of SAS (a account, c container, b blob), resource type,
 * permissions that are all needed, permissions of which one is: what `tavolad --operations` prints.
 */
// biome-ignore format: a row of the table is a line.
export const OPERATIONS = [
  ['table', 'GetTableServiceProperties', '/?restype=service', 'GET', 'properties', 'a', 's', 'r', '-'],
  ['table', 'SetTableServiceProperties', '/?restype=service', 'PUT', 'properties', 'a', 's', 'w', '-'],
  ['table', 'GetTableServiceStats', '/?restype=service', 'GET', 'stats', 'a', 's', 'r', '-'],
  ['table', 'QueryTables', '/Tables', 'GET', '-', 'a', 'c', 'l', '-'],
  ['table', 'CreateTable', '/Tables', 'POST', '-', 'a', 'c', '-', 'wc'],
  ['table', 'QueryTable', "/Tables('table')", 'GET', '-', 'a', 'c', '-', 'rl'],
  ['table', 'DeleteTable', "/Tables('table')", 'DELETE', '-', 'a', 'c', 'd', '-'],
  ['table', 'GetTableACL', '/table', 'GET', 'acl', '-', '-', '-', '-'],
  ['table', 'SetTableACL', '/table', 'PUT', 'acl', '-', '-', '-', '-'],
  ['table', 'QueryEntities', '/table', 'GET', '-', 'ac', 'o', 'r', '-'],
  ['table', 'QueryEntity', "/table(PartitionKey='p',RowKey='r')", 'GET', '-', 'ac', 'o', 'r', '-'],
  ['table', 'InsertEntity', '/table', 'POST', '-', 'ac', 'o', 'a', '-'],
  ['table', 'UpdateEntity', "/table(PartitionKey='p',RowKey='r')", 'PUT', '-', 'ac', 'o', 'u', '-'],
  ['table', 'MergeEntity', "/table(PartitionKey='p',RowKey='r')", 'PATCH', '-', 'ac', 'o', 'u', '-'],
  ['table', 'InsertOrReplaceEntity', '-', '-', '-', 'ac', 'o', 'au', '-'],
  ['table', 'InsertOrMergeEntity', '-', '-', '-', 'ac', 'o', 'au', '-'],
  ['table', 'DeleteEntity', "/table(PartitionKey='p',RowKey='r')", 'DELETE', '-', 'ac', 'o', 'd', '-'],
  ['table', 'EntityGroupTransaction', '/$batch', 'POST', '-', '-', '-', '-', '-'],
  ['queue', 'ListQueues', '/', 'GET', 'list', 'a', 's', 'l', '-'],
  ['queue', 'GetQueueServiceProperties', '/?restype=service', 'GET', 'properties', 'a', 's', 'r', '-'],
  ['queue', 'SetQueueServiceProperties', '/?restype=service', 'PUT', 'properties', 'a', 's', 'w', '-'],
  ['queue', 'GetQueueServiceStats', '/?restype=service', 'GET', 'stats', 'a', 's', 'r', '-'],
  ['queue', 'CreateQueue', '/queue', 'PUT', '-', 'a', 'c', '-', 'wc'],
  ['queue', 'DeleteQueue', '/queue', 'DELETE', '-', 'a', 'c', 'd', '-'],
  ['queue', 'GetQueueMetadata', '/queue', 'GET,HEAD', 'metadata', 'ac', 'c', 'r', '-'],
  ['queue', 'SetQueueMetadata', '/queue', 'PUT', 'metadata', 'a', 'c', 'w', '-'],
  ['queue', 'GetQueueAcl', '/queue', 'GET,HEAD', 'acl', '-', '-', '-', '-'],
  ['queue', 'SetQueueAcl', '/queue', 'PUT', 'acl', '-', '-', '-', '-'],
  ['queue', 'PutMessage', '/queue/messages', 'POST', '-', 'ac', 'o', 'a', '-'],
  ['queue', 'GetMessages', '/queue/messages', 'GET', '-', 'ac', 'o', 'p', '-'],
  ['queue', 'PeekMessages', '-', '-', '-', 'ac', 'o', 'r', '-'],
  ['queue', 'ClearMessages', '/queue/messages', 'DELETE', '-', 'a', 'o', 'd', '-'],
  ['queue', 'UpdateMessage', '/queue/messages/id', 'PUT', '-', 'ac', 'o', 'u', '-'],
  ['queue', 'DeleteMessage', '/queue/messages/id', 'DELETE', '-', 'ac', 'o', 'p', '-'],
  ['blob', 'GetBlobServiceProperties', '/?restype=service', 'GET', 'properties', 'a', 's', 'r', '-'],
  ['blob', 'SetBlobServiceProperties', '/?restype=service', 'PUT', 'properties', 'a', 's', 'w', '-'],
  ['blob', 'GetBlobServiceStats', '/?restype=service', 'GET', 'stats', 'a', 's', 'r', '-'],
  ['blob', 'GetAccountInformation', '/?restype=account', 'GET,HEAD', 'properties', 'acb', 's', '-', '-'],
  ['blob', 'ListContainers', '/', 'GET', 'list', 'a', 's', 'l', '-'],
  ['blob', 'CreateContainer', '/container?restype=container', 'PUT', '-', 'a', 'c', '-', 'wc'],
  ['blob', 'GetContainerProperties', '/container?restype=container', 'GET,HEAD', '-', 'a', 'c', 'r', '-'],
  ['blob', 'GetContainerMetadata', '/container?restype=container', 'GET,HEAD', 'metadata', 'a', 'c', 'r', '-'],
  ['blob', 'SetContainerMetadata', '/container?restype=container', 'PUT', 'metadata', 'a', 'c', 'w', '-'],
  ['blob', 'GetContainerACL', '/container?restype=container', 'GET,HEAD', 'acl', '-', '-', '-', '-'],
  ['blob', 'SetContainerACL', '/container?restype=container', 'PUT', 'acl', '-', '-', '-', '-'],
  ['blob', 'DeleteContainer', '/container?restype=container', 'DELETE', '-', 'a', 'c', 'd', '-'],
  ['blob', 'AcquireContainerLease', '/container?restype=container', 'PUT', 'lease', 'a', 'c', 'w', '-'],
  ['blob', 'ListBlobs', '/container?restype=container', 'GET', 'list', 'ac', 'c', 'l', '-'],
  ['blob', 'PutBlob', '/container/blob', 'PUT', '-', 'acb', 'o', '-', 'wc'],
  ['blob', 'PutBlock', '/container/blob', 'PUT', 'block', 'acb', 'o', 'w', '-'],
  ['blob', 'PutBlockList', '/container/blob', 'PUT', 'blocklist', 'acb', 'o', 'w', '-'],
  ['blob', 'AppendBlock', '/container/blob', 'PUT', 'appendblock', 'acb', 'o', '-', 'aw'],
  ['blob', 'AbortCopyBlob', '/container/blob', 'PUT', 'copy', 'acb', 'o', 'w', '-'],
  ['blob', 'GetBlob', '/container/blob', 'GET', '-', 'acb', 'o', 'r', '-'],
  ['blob', 'GetBlobProperties', '/container/blob', 'HEAD', '-', 'acb', 'o', 'r', '-'],
  ['blob', 'GetBlobMetadata', '/container/blob', 'GET,HEAD', 'metadata', 'acb', 'o', 'r', '-'],
  ['blob', 'GetBlockList', '/container/blob', 'GET', 'blocklist', 'acb', 'o', 'r', '-'],
  ['blob', 'SetBlobProperties', '/container/blob', 'PUT', 'properties', 'acb', 'o', 'w', '-'],
  ['blob', 'SetBlobMetadata', '/container/blob', 'PUT', 'metadata', 'acb', 'o', 'w', '-'],
  ['blob', 'SnapshotBlob', '/container/blob', 'PUT', 'snapshot', 'acb', 'o', '-', 'wc'],
  ['blob', 'DeleteBlob', '/container/blob', 'DELETE', '-', 'acb', 'o', 'd', '-'],
  ['blob', 'AcquireBlobLease', '/container/blob', 'PUT', 'lease', 'acb', 'o', 'w', '-'],
];

// Those that a header or a parameter tells from another one of the same path.
const BY_HEADER = {
  InsertOrReplaceEntity: 'UpdateEntity',
  InsertOrMergeEntity: 'MergeEntity',
  PeekMessages: 'GetMessages',
};

const unquoted = text => text.replace(/''/g, "'");

/** A request line as the service reads it: {method, service, path, container, blob, partition, row, query, isConditional, isTls}. */
function readRequest(text, at, endpoints) {
  const [method = 'GET', target = '/', ...more] = text.trim().split(/\s+/),
    wanted = {
      method: method.toUpperCase(),
      isConditional: /if-match/i.test(more.join(' ')),
      isTls: null,
    };
  const service = at.kind === 'account' ? at.service : at.kind;
  let path = target;
  Object.assign(wanted, { service });
  const url = /^https?:/i.test(target) ? urlOf(target) : null;
  if (url) {
    wanted.isTls = url.protocol === 'https:';
    wanted.service =
      Object.keys(endpoints || {}).find(kind => new URL(endpoints[kind]).host === url.host) ||
      service;
    path = url.pathname + url.search;
  }
  const [name, search = ''] = path.split('?'),
    parts = decoded(name).split('/').filter(Boolean);
  if (parts[0] === at.account) parts.shift();
  wanted.query = new URLSearchParams(search);
  if (!wanted.service)
    wanted.service = /^(Tables\b|\$batch)|\(/.test(parts[0] || '')
      ? 'table'
      : parts[1] === 'messages'
        ? 'queue'
        : 'blob';
  return Object.assign(
    wanted,
    wanted.service === 'table' ? readTablePath(parts) : readOtherPath(wanted, parts),
  );
}

function readTablePath(parts) {
  const [first = ''] = parts,
    [, name, inside] = /^([^(]*)(?:\((.*)\))?$/s.exec(first) || [null, first];
  if (first === '') return { path: '/?restype=service' };
  if (name === '$batch') return { path: '/$batch' };
  if (name === 'Tables') return inside ? { path: "/Tables('table')" } : { path: '/Tables' };
  const keys = /^PartitionKey='((?:[^']|'')*)',RowKey='((?:[^']|'')*)'$/s.exec(inside || '');
  return keys
    ? {
        path: "/table(PartitionKey='p',RowKey='r')",
        container: name,
        partition: unquoted(keys[1]),
        row: unquoted(keys[2]),
      }
    : { path: '/table', container: name };
}

function readOtherPath({ service, query }, parts) {
  const [container = '', ...rest] = parts;
  if (!container)
    return {
      path: query.get('comp') === 'list' ? '/' : `/?restype=${query.get('restype') || 'service'}`,
    };
  if (service === 'queue')
    return {
      path: ['/queue', '/queue/messages', '/queue/messages/id'][Math.min(rest.length, 2)],
      container,
    };
  return rest.length
    ? { path: '/container/blob', container, blob: rest.join('/') }
    : { path: '/container?restype=container', container };
}

/** The row of the operation that a request asks for, or undefined. */
function operationOf({ service, path, method, query, isConditional }) {
  const comp = query.get('comp') || '-',
    asked = method === 'MERGE' ? 'PATCH' : method;
  const fits = OPERATIONS.find(
    row =>
      row[0] === service && row[2] === path && row[3].split(',').includes(asked) && row[4] === comp,
  );
  const other =
    ((fits?.[1] === 'UpdateEntity' || fits?.[1] === 'MergeEntity') && !isConditional) ||
    (fits?.[1] === 'GetMessages' && query.get('peekonly') === 'true');
  return other ? OPERATIONS.find(row => BY_HEADER[row[1]] === fits[1]) : fits;
}

const inOrder = (a, b) => (a < b ? -1 : a > b ? 1 : 0); // by UTF-16, as the service does

/** Whether an entity is within the keys of a table SAS. */
function isWithin({ spk, srk = '', epk, erk }, partition, row) {
  if (spk != null && (inOrder(partition, spk) || inOrder(row, srk)) < 0) return false;
  if (epk != null && erk != null) return (inOrder(partition, epk) || inOrder(row, erk)) <= 0;
  return epk == null || inOrder(partition, epk) <= 0;
}

const addressNumber = text => text.split('.').reduce((sum, part) => sum * 256 + Number(part), 0);
function isAddressIn(range, address) {
  const [low, high = low] = range.split('-').map(addressNumber),
    number = addressNumber(address);
  return low <= number && number <= high;
}

const refused = (status, code, text) => ({ status, code, text });

/**
 * What a signature allows once its stored policy is taken in: its fields, or the refusal.
 * `policies` are those of its table, queue or container; null when they are not known.
 */
function withPolicy(at, policies) {
  const { fields } = at;
  if (!fields.si || at.kind === 'account' || !policies) return { fields };
  const policy = policies.find(each => each.id === fields.si),
    taken = { ...fields };
  if (!policy)
    return {
      refusal: refused(403, 'AuthenticationFailed', `No stored policy has the name ${fields.si}.`),
    };
  for (const [name, label, value] of [
    ['st', 'a start', policy.start],
    ['se', 'an expiry', policy.expiry],
    ['sp', 'permissions', policy.letters],
  ]) {
    if (!value) continue;
    if (fields[name])
      return {
        refusal: refused(
          400,
          'InvalidQueryParameterValue',
          `Both the policy ${fields.si} and the SAS have ${label}: only one may.`,
        ),
      };
    taken[name] = value;
  }
  return { fields: taken };
}

/** The names in the URL are signed too: with others the signature is wrong. */
function otherPlace(at, wanted) {
  if (at.container && at.container !== wanted.container)
    return `It is signed for ${at.container}, and the request names ${wanted.container || 'none'}.`;
  return at.kind === 'blob' && at.fields.sr !== 'c' && at.blob && at.blob !== wanted.blob
    ? `It is signed for the blob ${at.blob}, and the request names ${wanted.blob || 'none'}.`
    : '';
}

/** Whether it is authenticated: {fields} with the policy taken in, or {refusal}. */
function authenticate(at, wanted, { now, isSignatureRight, policies, address }) {
  const failed = text => ({ refusal: refused(403, 'AuthenticationFailed', text) }),
    given = at.fields;
  if (!/^\d{4}-\d\d-\d\d$/.test(given.sv || '') || given.sv < '2012-02-12')
    return failed(`sv, the version, is a date from 2012-02-12 on, not ${given.sv || 'nothing'}.`);
  if (given.skoid) return failed('It is signed for a user, and there are no users here.');
  const isOther = at.kind === 'queue' || at.kind === 'blob' ? otherPlace(at, wanted) : '';
  if (isOther) return failed(isOther);
  if (!isSignatureRight)
    return failed(
      'The signature does not fit the fields: they were changed, or another key signed.',
    );
  if (given.ses && wanted.service === 'blob')
    return failed('It is for an encryption scope (ses), and there are none here.');
  const { fields, refusal } = withPolicy(at, policies);
  if (refusal) return { refusal };
  if (fields.si && !policies) return { fields };
  if (!fields.sp) return failed('It has no permissions (sp), and no policy gives them.');
  if (!fields.se) return failed('It has no expiry (se), and no policy gives one.');
  if (Number.isNaN(Date.parse(fields.se)) || (fields.st && Number.isNaN(Date.parse(fields.st))))
    return failed('st and se are times like 2026-11-23T15:42:00Z.');
  if (fields.st && Date.parse(fields.st) > now)
    return failed(`It is good from ${when(fields.st)} on.`);
  if (Date.parse(fields.se) < now) return failed(`It expired at ${when(fields.se)}.`);
  if (fields.spr && !['https', 'https,http', 'http,https'].includes(fields.spr))
    return failed('spr is https or https,http.');
  if (fields.spr === 'https' && wanted.isTls === false)
    return { refusal: refused(403, 'AuthorizationProtocolMismatch', 'It is for HTTPS only.') };
  if (fields.sip && address && !isAddressIn(fields.sip, address))
    return {
      refusal: refused(
        403,
        'AuthorizationSourceIPMismatch',
        `It is for ${fields.sip}, and the request comes from ${address}.`,
      ),
    };
  if (at.kind === 'account' && !fields.ss.includes(wanted.service[0]))
    return {
      refusal: refused(
        403,
        'AuthorizationServiceMismatch',
        `It is not for the ${wanted.service} service: ss has ${fields.ss}.`,
      ),
    };
  if (
    at.kind === 'table' &&
    ((fields.srk != null && fields.spk == null) || (fields.erk != null && fields.epk == null))
  )
    return failed('A RowKey limits only together with its PartitionKey.');
  if (at.kind === 'table' && (fields.epk === '' || fields.erk === ''))
    return failed('An empty end would sign the same as none: it never works.');
  if (at.kind === 'blob' && !['b', 'c', 'bs'].includes(fields.sr))
    return failed('sr is b for a blob, bs for a snapshot or c for a container.');
  return { fields };
}

function authorize(at, fields, wanted, operation) {
  const [, name, , , , kinds, type, all, any] = operation,
    isAccount = at.kind === 'account',
    kind = isAccount ? 'a' : at.kind === 'blob' && fields.sr !== 'c' ? 'b' : 'c';
  const failure = text => refused(403, 'AuthorizationFailure', text);
  if (name === 'EntityGroupTransaction') return null; // each of its parts is looked at by itself
  if (!kinds.includes(kind))
    return failure(
      kinds === '-'
        ? `${name} is for the account's keys alone.`
        : `${name} needs ${kinds === 'a' ? 'an account SAS' : 'another kind of SAS'}.`,
    );
  if (at.kind === 'table' && fields.tn.toLowerCase() !== (wanted.container || '').toLowerCase())
    return failure(
      `It is for the table ${fields.tn}, and the request names ${wanted.container || 'none'}.`,
    );
  if (isAccount && !(fields.srt || '').includes(type))
    return refused(
      403,
      'AuthorizationResourceTypeMismatch',
      `${name} needs the resource type ${type} (${{ s: 'service', c: 'container', o: 'object' }[type]}), and srt has ${fields.srt || 'nothing'}.`,
    );
  const has = letter => (fields.sp || '').includes(letter),
    missing = all === '-' ? '' : [...all].filter(letter => !has(letter)).join('');
  if (missing)
    return refused(
      403,
      'AuthorizationPermissionMismatch',
      `${wanted.method} needs ${[...all].join(' and ')}, and the SAS has ${fields.sp || 'nothing'}.`,
    );
  if (any !== '-' && ![...any].some(has))
    return refused(
      403,
      'AuthorizationPermissionMismatch',
      `${wanted.method} needs ${[...any].join(' or ')}, and the SAS has ${fields.sp || 'nothing'}.`,
    );
  if (
    at.kind === 'table' &&
    wanted.partition != null &&
    !isWithin(fields, wanted.partition, wanted.row)
  )
    return failure(`${wanted.partition} / ${wanted.row} is outside of the keys that it is for.`);
  return null;
}

/**
 * Why a request would be refused: {status, code, text, operation}; a `code` of '' when it would not, as far
 * as the signature goes.  `circumstances`: {now, isSignatureRight, policies, address, endpoints}.
 */
export function refusalOf(at, text, circumstances) {
  let wanted;
  try {
    wanted = readRequest(text, at, circumstances.endpoints);
  } catch {
    return {
      status: 400,
      code: 'InvalidUri',
      text: 'This is no request: write a method and a path, like GET /People().',
    };
  }
  const { fields, refusal } = authenticate(at, wanted, circumstances);
  if (refusal) return refusal;
  const operation = operationOf(wanted);
  if (!operation)
    return {
      status: 400,
      code: 'UnsupportedHttpVerb',
      text: `The ${wanted.service} service has no operation for ${wanted.method} on this path.`,
    };
  const note =
    operation[1] === 'PutBlob' && !(fields.sp || '').includes('w')
      ? 'There must be no such blob yet: c does not replace one.'
      : '';
  return {
    ...(authorize(at, fields, wanted, operation) || { status: 200, code: '', text: note }),
    operation: operation[1],
  };
}
