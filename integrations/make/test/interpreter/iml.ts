/**
 * The part of IML, Make's expression language, that the app uses, as Make documents it: `{{…}}` in texts, dots, brackets that
 * count from 1, back ticks, comparisons, a few functions. Whatever it does not know is an error, not undefined, so that a slip
 * of the pen in the app is seen.
 */
export type Variables = Readonly<Record<string, unknown>>;

const TOKEN = /\s*(?:(\d+)|'([^']*)'|`([^`]*)`|([A-Za-z_]\w*)|(==|!=|<=|[<().,[\]]))/y;

type Kind = 'number' | 'text' | 'ticked' | 'name' | 'sign' | 'end';
interface Token {
  readonly kind: Kind;
  readonly value: string;
}

function tokensOf(source: string): Token[] {
  const tokens: Token[] = [];
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < source.replace(/\s+$/, '').length) {
    const at = TOKEN.lastIndex;
    const [, number, text, ticked, name, sign] = TOKEN.exec(source) ?? [];
    const found: [Kind, string | undefined][] = [
      ['number', number],
      ['text', text],
      ['ticked', ticked],
      ['name', name],
      ['sign', sign],
    ];
    const [kind, value] = found.find(([, match]) => match !== undefined) ?? ['end', undefined];
    if (value === undefined) throw new Error(`IML: cannot read ${source.slice(at)}`);
    tokens.push({ kind, value });
  }
  return tokens;
}

const isEmpty = (value: unknown): boolean => value === undefined || value === null || value === '';

const FUNCTIONS: Readonly<Record<string, (...values: readonly unknown[]) => unknown>> = {
  ifempty: (value, otherwise) => (isEmpty(value) ? otherwise : value),
  if: (condition, value, otherwise) => (condition ? value : otherwise),
  contains: (text, part) => {
    if (typeof text === 'string') return text.includes(String(part));
    throw new Error('IML: contains() is used with texts here');
  },
  formatDate: (value, format) => {
    if (format !== 'x') throw new Error('IML: only the format x, Unix milliseconds, is used here');
    return String(Date.parse(String(value)));
  },
  parseNumber: (value) => Number(value),
  length: (value) => {
    if (Array.isArray(value) || typeof value === 'string') return value.length;
    throw new Error('IML: length() is of arrays and texts');
  },
};

function compare(a: unknown, b: unknown, holds: (a: number, b: number) => boolean): boolean {
  if (typeof a === 'number' && typeof b === 'number') return holds(a, b);
  throw new Error('IML: only numbers have a documented order');
}

const OPERATORS: Readonly<Record<string, (a: unknown, b: unknown) => unknown>> = {
  '==': (a, b) => a === b,
  '!=': (a, b) => a !== b,
  '<': (a, b) => compare(a, b, (x, y) => x < y),
  '<=': (a, b) => compare(a, b, (x, y) => x <= y),
};

/** What a dot leads to; from nothing it leads to nothing. */
const member = (value: unknown, key: string): unknown =>
  typeof value === 'object' && value !== null ? Reflect.get(value, key) : undefined;

class Expression {
  readonly #tokens: Token[];
  readonly #variables: Variables;

  constructor(source: string, variables: Variables) {
    this.#tokens = tokensOf(source);
    this.#variables = variables;
  }

  value(): unknown {
    const value = this.#operation();
    if (this.#tokens.length > 0) throw new Error(`IML: did not expect ${this.#tokens[0]?.value}`);
    return value;
  }

  #next(): Token {
    return this.#tokens.shift() ?? { kind: 'end', value: '' };
  }

  #takes(sign: string): boolean {
    const [first] = this.#tokens;
    if (first?.kind !== 'sign' || first.value !== sign) return false;
    this.#next();
    return true;
  }

  #must(sign: string): void {
    if (!this.#takes(sign)) throw new Error(`IML: expected ${sign}`);
  }

  #operation(): unknown {
    const left = this.#path();
    const [first] = this.#tokens;
    const operator = first?.kind === 'sign' ? OPERATORS[first.value] : undefined;
    if (!operator) return left;
    this.#next();
    return operator(left, this.#path());
  }

  #path(): unknown {
    let value = this.#primary();
    for (;;) {
      if (this.#takes('.')) value = member(value, this.#next().value);
      else if (this.#takes('[')) {
        value = member(value, String(Number(this.#next().value) - 1));
        this.#must(']');
      } else return value;
    }
  }

  #primary(): unknown {
    if (this.#takes('(')) {
      const value = this.#operation();
      this.#must(')');
      return value;
    }
    const { kind, value } = this.#next();
    if (kind === 'text') return value;
    if (kind === 'number') return Number(value);
    if (kind !== 'name') throw new Error(`IML: expected a value, got ${value || 'the end'}`);
    if (value === 'true' || value === 'false') return value === 'true';
    return this.#takes('(') ? this.#call(value) : this.#variable(value);
  }

  #call(name: string): unknown {
    const called = FUNCTIONS[name];
    if (!called) throw new Error(`IML: unknown function ${name}`);
    const values: unknown[] = [];
    while (!this.#takes(')')) {
      values.push(this.#operation());
      this.#takes(',');
    }
    return called(...values);
  }

  #variable(name: string): unknown {
    if (name in this.#variables) return this.#variables[name];
    throw new Error(`IML: ${name} is not a variable here`);
  }
}

const TEMPLATE = /\{\{(.*?)\}\}/g;
const WHOLE = /^\{\{([^{}]*)\}\}$/;

const asText = (value: unknown): string => (isEmpty(value) ? '' : String(value));

/** A text that is one expression gives its value; any other text is filled in. Objects and arrays are gone through. */
export function evaluate(template: unknown, variables: Variables): unknown {
  if (Array.isArray(template)) return template.map((part) => evaluate(part, variables));
  if (typeof template === 'object' && template !== null)
    return Object.fromEntries(
      Object.entries(template).map(([key, value]) => [key, evaluate(value, variables)]),
    );
  if (typeof template !== 'string') return template;
  const [, whole] = WHOLE.exec(template) ?? [];
  if (whole !== undefined) return new Expression(whole, variables).value();
  return template.replace(TEMPLATE, (_, source: string) => asText(new Expression(source, variables).value()));
}

export const evaluateText = (template: unknown, variables: Variables): string =>
  asText(evaluate(template, variables));
