import type { Consumer } from '@leadtap/contract';
import type { JSX } from 'preact';
import { visible } from '../text.tsx';

/** `“Zapier”`, as the token was issued. */
export function ConsumerName({ consumer: { name, tokenId } }: { readonly consumer: Consumer }): JSX.Element {
  if (name !== null)
    return (
      <>
        “<bdi>{visible(name)}</bdi>”
      </>
    );
  if (tokenId === null) return <>A token without an id</>;
  return <code>{tokenId}</code>;
}
