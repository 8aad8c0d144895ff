import { describe, expect, it } from 'vitest';
import { evaluate } from './interpreter/iml.ts';

const variables = {
  body: [{ name: 'Ada' }, { name: 'Ben' }],
  headers: { 'retry-after': '12' },
  text: '',
  count: 100,
};

describe('IML', () => {
  it.each([
    ['plain', 'plain'],
    ['{{count}}', 100],
    ['{{count == 100}}', true],
    ['{{count != 100}}', false],
    ['{{length(body) == 2}}', true],
    ['{{count < 100}}', false],
    ['{{count <= 100}}', true],
    ["{{parseNumber(formatDate('2026-03-02T09:30:00.001Z', 'x'), '.')}}", 1772443800001],
    ['{{body[1].name}}', 'Ada'],
    ['{{body[2].name}} and {{body[1].name}}', 'Ben and Ada'],
    ['{{body[3].name}}', undefined],
    ['-{{body[3].name}}-', '--'],
    ['in {{headers.`retry-after`}} s', 'in 12 s'],
    ["{{ifempty(text, 'nothing')}}", 'nothing'],
    ["{{ifempty(count, 'nothing')}}", 100],
    ["{{if(count == 100, 'yes', 'no')}}", 'yes'],
    ["{{if((count == 1), 'yes', 'no')}}", 'no'],
    ["{{contains('a link', 'link')}}", true],
    ["{{contains(text, 'link')}}", false],
    ['{{ifempty(text, true)}}', true],
    ["{{ifempty(text, ifempty(body[3].name, 'unknown'))}}", 'unknown'],
  ])('%s', (template, value) => expect(evaluate(template, variables)).toEqual(value));

  it.each([
    '{{unknown.name}}',
    '{{nothing(count)}}',
    '{{count ==}}',
    "{{count < '100'}}",
    '{{count count}}',
    '{{#}}',
  ])('%s is refused', (template) => expect(() => evaluate(template, variables)).toThrow('IML:'));
});
