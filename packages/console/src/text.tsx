import { useSignal } from '@preact/signals';
import type { ComponentChildren, JSX } from 'preact';
import { useEffect } from 'preact/hooks';

/** Characters that are not visible, but change the order in which those around them are shown, or are for terminals. */
const INVISIBLE = /(?![\n\t])[\p{Cc}\p{Bidi_Control}]/gu;

/** A text of others, as it may be shown. */
export const visible = (text: string): string => text.replace(INVISIBLE, '');

/** The same value, with such characters as escapes. */
export const toJson = (value: unknown): string =>
  JSON.stringify(value, null, 2).replace(
    INVISIBLE,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );

const NO_NAME = /^[\p{Cc}\p{Cf}\s]*$/u;

export const nameOf = (fullName: string): string =>
  NO_NAME.test(fullName) ? 'Without a name' : visible(fullName);

/** `1 lead`, `1,000 leads`. */
export const formatCount = (count: number, noun = 'lead'): string =>
  `${count.toLocaleString('en')} ${noun}${count === 1 ? '' : 's'}`;

/** The texts of the contract are Markdown with code spans only. */
export function Text({ children }: { readonly children: string }): JSX.Element {
  const parts = children.split('`');
  return <>{parts.map((part, index) => (index % 2 === 1 ? <code key={index}>{part}</code> : part))}</>;
}

/** In single quotes, for a shell. */
export const quote = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`;

const SAFE_IN_A_SHELL = /^[\w.@:+-]+$/;

/** As it is where a shell reads it as one word, or else in quotes. */
export const shellWord = (text: string): string => (SAFE_IN_A_SHELL.test(text) ? text : quote(text));

/** Without HTTPS the clipboard of the browser is not available, but a selection can still be copied. */
async function copy(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const field = document.createElement('textarea');
    field.value = text;
    field.setAttribute('readonly', '');
    field.className = 'vh';
    document.body.append(field);
    field.select();
    const isCopied = document.execCommand('copy');
    field.remove();
    return isCopied;
  }
}

interface CopyButtonProps {
  readonly text: () => string;
  readonly children: ComponentChildren;
}

/** Says whether it has copied, until the visitor does something else. */
export function CopyButton({ text, children }: CopyButtonProps): JSX.Element {
  const result = useSignal('');
  const onClick = async () => {
    result.value = (await copy(text())) ? 'copied' : 'not copied: select the text and copy it';
  };
  useEffect(() => {
    if (result.value === '') return;
    const clear = () => {
      result.value = '';
    };
    const events = ['pointerdown', 'keydown'] as const;
    for (const event of events) addEventListener(event, clear);
    return () => {
      for (const event of events) removeEventListener(event, clear);
    };
  }, [result.value]);
  return (
    <span class={`copy ${result.value === '' ? '' : 'done'}`}>
      <button type="button" onClick={onClick} title={result.value === '' ? undefined : result.value}>
        <span>{children}</span>
        {/* In the place of the label, so that nothing beside it moves. */}
        <span aria-hidden="true">{result.value.startsWith('not') ? 'not copied' : '✓ copied'}</span>
      </button>
      <span class="vh" role="status">
        {result}
      </span>
    </span>
  );
}

/** A text of others that breaks before `@` and `.` if its line is too short, as e-mail addresses do. */
export const Address = ({ children }: { readonly children: string }): JSX.Element => (
  <bdi>
    {visible(children)
      .split(/(?=[@.])/)
      .map((part, index) => [index > 0 && <wbr />, part])}
  </bdi>
);

const MAX_SHOWN = 1000;

/** Cuts what would fill several screens. The direction of its letters does not affect its neighbours. */
export function LongText({ children }: { readonly children: string }): JSX.Element {
  const isWhole = useSignal(false);
  const text = visible(children);
  if (text.length <= MAX_SHOWN || isWhole.value) return <bdi>{text}</bdi>;
  const show = () => {
    isWhole.value = true;
  };
  return (
    <>
      <bdi>{text.slice(0, MAX_SHOWN)}</bdi>…{' '}
      <button type="button" onClick={show}>
        Show all {formatCount(text.length, 'character')}
      </button>
    </>
  );
}
