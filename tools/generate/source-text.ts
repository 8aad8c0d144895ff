/** How generated values and sections are written, so that the formatter leaves them as they are. */

const isPrimitive = (value: unknown): boolean => typeof value !== 'object' || value === null;

interface Style {
  readonly key: (name: string) => string;
  readonly text: (value: string) => string;
  /** After the last item of a list over several lines. */
  readonly end: string;
}

const JSON_STYLE: Style = { key: JSON.stringify, text: JSON.stringify, end: '' };

const TYPESCRIPT_STYLE: Style = {
  key: (name) => (/^\w+$/.test(name) ? name : quote(name)),
  text: quote,
  end: ',',
};

function quote(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}

function write(value: unknown, style: Style, indent: string): string {
  if (typeof value === 'string') return style.text(value);
  if (isPrimitive(value)) return String(value);
  const inner = `${indent}  `;
  const lines = (open: string, items: readonly string[], close: string) =>
    items.length === 0
      ? open + close
      : `${open}\n${items.map((item) => inner + item).join(',\n')}${style.end}\n${indent}${close}`;
  if (!Array.isArray(value))
    return lines(
      '{',
      Object.entries(Object(value)).map(([name, item]) => `${style.key(name)}: ${write(item, style, inner)}`),
      '}',
    );
  if (value.every(isPrimitive)) return `[${value.map((item) => write(item, style, inner)).join(', ')}]`;
  return lines(
    '[',
    value.map((item) => write(item, style, inner)),
    ']',
  );
}

export const toJson = (value: unknown): string => `${write(value, JSON_STYLE, '')}\n`;

export const toTypeScript = (value: unknown): string => write(value, TYPESCRIPT_STYLE, '');

/** Replaces the lines between the line with `generated: NAME` and the line with `end: NAME`. */
export function replaceSection(text: string, name: string, content: string): string {
  const lines = text.split('\n');
  const start = lines.findIndex((line) => line.includes(`generated: ${name}`));
  const end = lines.findIndex((line) => line.includes(`end: ${name}`));
  if (start < 0 || end < start)
    throw new Error(`There are no lines "generated: ${name}" and "end: ${name}".`);
  return [...lines.slice(0, start + 1), ...content.split('\n'), ...lines.slice(end)].join('\n');
}
