import type { StatusJson } from '@leadtap/contract';
import type { Signal } from '@preact/signals';
import type { ComponentChildren, JSX } from 'preact';
import { HoursLegend } from '../connections/hours.tsx';
import { Sentence } from '../connections/level.tsx';
import { ConnectionLists, ConnectionName, Row, type RowProps } from '../connections/row.tsx';
import { Text, visible } from '../text.tsx';
import { formatExact } from '../time.tsx';

interface StatusPageProps {
  readonly report: Signal<StatusJson | undefined>;
  readonly isAnswering: Signal<boolean>;
}

type StatusConnection = StatusJson['in'][number] | StatusJson['out'][number];

const isBad = ({ level }: Pick<StatusConnection, 'level'>): boolean =>
  level === 'error' || level === 'warning';

export function StatusPage({ report: { value: report }, isAnswering }: StatusPageProps): JSX.Element {
  const bad = report ? [...report.problems, ...report.in, ...report.out].filter(isBad).length : 0;
  document.title = isAnswering.value
    ? `${bad === 0 ? '' : `(${bad}) `}Leadtap status`
    : 'No answer: Leadtap status';
  return (
    <>
      <header class="bar">
        <p class="brand">Leadtap status {report && <span class="soft">{report.version}</span>}</p>
        {report && (
          <time class="account soft" dateTime={report.generatedAt}>
            {formatExact(Date.parse(report.generatedAt))}
          </time>
        )}
      </header>
      <main class="tab-status">
        <div class={isAnswering.value ? 'overview' : 'overview not-current'}>
          <Sentence
            {...(isAnswering.value ? { level: report?.level, text: report?.message ?? '' } : NO_ANSWER)}
          />
          {report && <Facts report={report} />}
        </div>
      </main>
    </>
  );
}

const NO_ANSWER = {
  level: 'error',
  text: 'This instance does not answer. It is asked again every 5 seconds.',
} as const;

function Facts({ report }: { readonly report: StatusJson }): JSX.Element {
  const { problems, refusals, errors, system } = report;
  return (
    <>
      <PlainRows
        title="Problems"
        rows={problems.map(({ kind, level, docs, message, fix }) => ({
          ...{ id: kind, level, label: kind, href: docs.slice(1), message, fix, isOpen: true },
        }))}
      />
      <ConnectionLists {...report} render={renderRow} />
      <PlainRows
        title="Last errors"
        rows={errors.map(({ at, status, code, requestId, path }) => ({
          ...{ id: requestId, level: 'error', label: formatExact(Date.parse(at)) },
          message: `${status} ${code}, ${path}`,
          fix: `Search the log for the request id \`${requestId}\`: its lines have the cause.`,
        }))}
      />
      <PlainRows
        title="Refused requests"
        rows={refusals.map(({ code, status, message, fix }) => ({
          ...{ id: code, level: status >= 500 ? 'error' : undefined, label: `${status} ${code}` },
          ...{ href: `docs#problem-${code}`, message, fix },
        }))}
      />
      <Section title="System">
        <dl class="system">
          {system.map(({ name, text, isBad: isMarked }) => (
            <div key={name} class={isMarked ? 'bad' : undefined}>
              <dt>{name}</dt>
              <dd>
                <Text>{text}</Text>
              </dd>
            </div>
          ))}
        </dl>
      </Section>
      <p class="overview-foot faint">
        <span>
          The same as JSON: <a href="status.json">status.json</a>. For Prometheus:{' '}
          <a href="metrics">metrics</a>.
        </span>
        <HoursLegend />
      </p>
    </>
  );
}

/** Each company has a row of leads that no automation gets. Names have spaces, ids of elements have none. */
const rowIdOf = ({ id, name }: StatusConnection): string => `${id}-${encodeURIComponent(name)}`;

/** The same row as in the Overview. What can be done is a command. */
const renderRow = (connection: StatusConnection): JSX.Element => (
  <Row
    {...connection}
    key={rowIdOf(connection)}
    id={rowIdOf(connection)}
    label={<ConnectionName connection={connection} />}
  >
    {connection.userId !== '' && (
      <span class="soft">
        (user <bdi>{visible(connection.userId)}</bdi>)
      </span>
    )}
  </Row>
);

interface PlainRowsProps {
  readonly title: string;
  readonly rows: readonly RowProps[];
}

/** Nothing if there is none. */
const PlainRows = ({ title, rows }: PlainRowsProps) =>
  rows.length > 0 && (
    <Section title={title}>
      <ul class="connections">
        {rows.map((row) => (
          <Row key={row.id} {...row} />
        ))}
      </ul>
    </Section>
  );

interface SectionProps {
  readonly title: string;
  readonly children: ComponentChildren;
}

const Section = ({ title, children }: SectionProps) => (
  <section aria-label={title}>
    <h2>{title}</h2>
    {children}
  </section>
);
