import type { JSX } from 'preact';

const MARKED = /(`[^`]+`|\*[^*]+\*)/;

/** A sentence with `` `code` `` and `*labels*`. */
export function RichText({ children }: { readonly children: string }): JSX.Element {
  const parts = children.split(MARKED);
  return (
    <>
      {parts.map((part, index) => {
        if (part.startsWith('`')) return <code key={index}>{part.slice(1, -1)}</code>;
        if (index % 2 === 1) return <b key={index}>{part.slice(1, -1)}</b>;
        return part;
      })}
    </>
  );
}
