/* Compares shiftvit.d.ts with shiftvit.js: test_types.mjs WEB_FOLDER. The classes and functions that are exported, their
 * members, and the names of the arguments, with those that may be left out. Prints a line for each difference. */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

const folder = resolve(process.argv[2]);
const module = await import(pathToFileURL(`${folder}/shiftvit.js`));
const types = withoutComments(readFileSync(`${folder}/shiftvit.d.ts`, 'utf8'));
const OWN = { ShiftvitError: { status: 'property' } }; /* what constructors assign, which no prototype has */

function withoutComments(text) {
  return text.replace(/\/\*[^]*?\*\//g, '');
}

/* What lies between the bracket at `text[from]` and its counterpart. */
function within(text, from) {
  let depth = 0;
  for (let at = from; at < text.length; at++) {
    if ('([{<'.includes(text[at])) depth += 1;
    else if (')]}>'.includes(text[at]) && text[at - 1] !== '=') depth -= 1; /* no bracket: => */
    if (depth === 0) return text.slice(from + 1, at);
  }
  throw new Error(`no end of: ${text.slice(from, from + 60)}`);
}

/* The arguments of a list in the form "name, name?", where ? stands for one that may be left out. */
function listed(list, isOptional) {
  let depth = 0, parts = [''];
  for (const character of list) {
    if ('([{<'.includes(character)) depth += 1;
    if (')]}>'.includes(character)) depth -= 1;
    if (character === ',' && depth === 0) parts.push('');
    else parts[parts.length - 1] += character;
  }
  parts = parts.map((part) => part.trim()).filter((part) => part !== '');
  return parts.map((part) => (/^\w+/.exec(part)?.[0] ?? '{}') + (isOptional(part) ? '?' : '')).join(', ');
}

const typed = (text, from) => listed(within(text, from), (part) => /^\w+\?/.test(part));

function coded(call) {
  const text = withoutComments(`${call}`);
  return listed(within(text, text.indexOf('(')), (part) => part.includes('='));
}

/* { name: "getter" or arguments } of a class, as the types have it and as the code has it. */
function typedMembers(body) {
  const members = {};
  for (const [, name] of body.matchAll(/^ {2}readonly (\w+): /gm)) members[name] = 'property';
  for (const { 1: name, 0: head, index } of body.matchAll(/^ {2}(\w+)\(/gm))
    if (name !== 'constructor') members[name] = typed(body, index + head.length - 1);
  return members;
}

function codedMembers(name) {
  const members = { ...OWN[name] };
  for (const [key, { get, value }] of Object.entries(Object.getOwnPropertyDescriptors(module[name].prototype)))
    if (key !== 'constructor') members[key] = get ? 'property' : coded(value);
  return members;
}

const inTypes = {}, inCode = {};
for (const { 1: name, index } of types.matchAll(/^export class (\w+)/gm))
  for (const [key, value] of Object.entries(typedMembers(within(types, types.indexOf('{', index))))) inTypes[`${name}.${key}`] = value;
for (const { 1: name, 0: head, index } of types.matchAll(/^export function (\w+)\(/gm))
  inTypes[name] = typed(types, index + head.length - 1);
for (const [name, value] of Object.entries(module)) {
  if (!/^class/.test(`${value}`)) inCode[name] = coded(value);
  else for (const [key, member] of Object.entries(codedMembers(name))) inCode[`${name}.${key}`] = member;
}

let failed = 0;
for (const name of new Set([...Object.keys(inTypes), ...Object.keys(inCode)])) {
  const said = inTypes[name], is = inCode[name]?.replace(/\{\}\?/, 'options?'); /* an object that is taken apart */
  if (said === is) continue;
  failed += 1;
  console.log(`FAIL  ${name}: shiftvit.d.ts has ${said === undefined ? 'none' : `(${said})`}, shiftvit.js ${is === undefined ? 'none' : `(${is})`}`);
}
if (Object.keys(inTypes).length < 20) console.log(`FAIL  shiftvit.d.ts has ${Object.keys(inTypes).length} members`, failed += 1);
if (!failed) console.log(`ok    the ${Object.keys(inTypes).length} members of shiftvit.d.ts are those of shiftvit.js`);
process.exitCode = failed ? 1 : 0;
