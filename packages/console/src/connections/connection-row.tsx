import type { JSX } from 'preact';
import { Buttons } from './buttons.tsx';
import { type Connection, hasLog } from './list.ts';
import { logHref } from './opened-log.ts';
import { Owed } from './owed.tsx';
import { ConnectionName, Row } from './row.tsx';
import { shownOwed } from './shown-owed.ts';

interface ConnectionRowProps {
  readonly connection: Connection;
  /** On the page of its log. */
  readonly isWhole?: boolean;
  readonly isOpen?: boolean;
}

/** One connection, whatever it is, with what can be done. A click on its name opens its log. */
export const ConnectionRow = ({ connection, isWhole = false, ...rest }: ConnectionRowProps): JSX.Element => (
  <Row
    {...connection}
    {...rest}
    label={<ConnectionName connection={connection} />}
    href={isWhole || !hasLog(connection.id) ? undefined : logHref(connection.id)}
    buttons={<Buttons connection={connection} isWhole={isWhole} />}
    below={shownOwed.value === connection.id && <Owed connection={connection} />}
  />
);
