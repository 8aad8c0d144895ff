import type { Lead } from '@leadtap/client';
import { type LeadFieldName, NEW_LEADS_PATH } from '@leadtap/contract';
import { useSignal } from '@preact/signals';
import type { ComponentChildren, JSX } from 'preact';
import { fieldLabels } from '../contract-texts.json';
import { close } from '../router.ts';
import { baseUrl } from '../service.ts';
import { session } from '../session.ts';
import { CopyButton, LongText } from '../text.tsx';
import { formatExact, Relative } from '../time.tsx';
import { openedLead } from './selection.ts';
import { Status } from './status.tsx';

type Group = readonly [title: string, fields: readonly LeadFieldName[]];

const GROUPS: readonly Group[] = [
  ['Contact', ['fullName', 'firstName', 'lastName', 'phone1', 'phone2', 'email']],
  ['Appointment', ['appointmentDateTime', 'timeslot', 'sameDay']],
  ['Address', ['address', 'postalCode', 'addressNotes']],
  ['Belongs to', ['companyName', 'branchName', 'departmentName']],
  ['Status', ['status', 'statusValue']],
];

const FEED: Group = [
  'Feed',
  ['id', 'createdAt', 'updatedAt', 'automation_trigger_id', 'automation_created_at'],
];

const GROUPED = new Set<string>([...GROUPS, FEED].flatMap(([, fields]) => fields));

/** Every field of a lead is shown: those without a group of their own as well. */
const MORE: Group = [
  'More',
  (Object.keys(fieldLabels) as LeadFieldName[]).filter((name) => !GROUPED.has(name)),
];

const HEADING = 'lead-heading';

/** Moves the focus into the detail, after it was rendered. */
export const focusDetail = (): void => {
  requestAnimationFrame(() => document.getElementById(HEADING)?.focus());
};

export function LeadDetail(): JSX.Element {
  const lead = openedLead.value;
  return (
    <article class="detail" aria-labelledby={HEADING}>
      <button type="button" class="back" onClick={close}>
        <span aria-hidden="true">← </span>All leads
      </button>
      {lead ? <Fields lead={lead} /> : <NoLead />}
    </article>
  );
}

const NoLead = () => (
  <p class="empty" id={HEADING} tabIndex={-1}>
    This lead is not among the loaded ones.
  </p>
);

function Fields({ lead }: { readonly lead: Lead }): JSX.Element {
  return (
    <>
      <header>
        <h1 id={HEADING} tabIndex={-1}>
          {lead.fullName === '' ? 'Without a name' : <LongText>{lead.fullName}</LongText>}
        </h1>
        <Status status={lead.status} />
      </header>
      <CopyBar lead={lead} key={lead.automation_trigger_id} />
      {[...GROUPS, MORE, FEED].map(([title, names]) => (
        <section key={title} aria-label={title}>
          <h2>{title}</h2>
          <dl>
            {names.map((name) => (
              <div key={name}>
                <dt title={name}>{fieldLabels[name]}</dt>
                <dd>{renderField(lead, name)}</dd>
              </div>
            ))}
          </dl>
        </section>
      ))}
      <details>
        <summary>JSON, as automations get it</summary>
        <pre>{JSON.stringify(lead, null, 2)}</pre>
      </details>
    </>
  );
}

const NONE = <span class="soft">none</span>;

function renderField(lead: Lead, name: LeadFieldName): ComponentChildren {
  if (name === 'status') return <StatusDetail status={lead.status} />;
  if (name === 'customFields') return <CustomFields fields={lead.customFields} />;
  if (name === 'images') return <Images urls={lead.images} />;
  if (name === 'sameDay') return lead.sameDay ? 'yes' : 'no';
  const value = lead[name];
  if (value === null || value === '') return NONE;
  switch (name) {
    case 'phone1':
    case 'phone2':
      return (
        <a href={`tel:${value.replace(/[^\d+]/g, '')}`}>
          <bdi>{value}</bdi>
        </a>
      );
    case 'email':
      return (
        <a href={`mailto:${encodeURIComponent(value).replaceAll('%40', '@')}`}>
          <bdi>{value}</bdi>
        </a>
      );
    case 'appointmentDateTime':
    case 'createdAt':
    case 'updatedAt':
    case 'automation_created_at':
      return <Instant text={value} />;
    case 'id':
    case 'statusValue':
    case 'automation_trigger_id':
      return <code>{value}</code>;
    default:
      return <LongText>{value}</LongText>;
  }
}

const StatusDetail = ({ status }: Pick<Lead, 'status'>) => (
  <>
    <Status status={status} />{' '}
    <span class="soft">
      {status.color}
      {status.final ? ', final' : ''}
    </span>
  </>
);

/** For people, and as it is on the wire. */
const Instant = ({ text }: { readonly text: string }) => (
  <time dateTime={text}>
    {formatExact(Date.parse(text))} (<Relative at={Date.parse(text)} />) <code>{text}</code>
  </time>
);

function CustomFields({ fields }: { readonly fields: Lead['customFields'] }) {
  const entries = Object.entries(fields);
  if (entries.length === 0) return NONE;
  return (
    <ul>
      {entries.map(([name, value]) => (
        <li key={name}>
          <span class="soft">
            <bdi>{name}</bdi>:
          </span>{' '}
          <LongText>{typeof value === 'string' ? value : JSON.stringify(value)}</LongText>
        </li>
      ))}
    </ul>
  );
}

/** Links only: the page loads nothing of other servers. */
function Images({ urls }: { readonly urls: readonly string[] }) {
  if (urls.length === 0) return NONE;
  return (
    <ul>
      {urls.map((url) => (
        <li key={url}>
          {/^https?:\/\//i.test(url) ? (
            <a href={url} target="_blank" rel="noopener noreferrer">
              {url}
            </a>
          ) : (
            url
          )}
        </li>
      ))}
      <li class="soft">Opened only when you click.</li>
    </ul>
  );
}

function CopyBar({ lead }: { readonly lead: Lead }): JSX.Element {
  const withToken = useSignal(false);
  const curl = () => {
    // `createdAt` is unique, so this returns the lead itself.
    const since = new Date(Date.parse(lead.createdAt) - 1).toISOString();
    const token = withToken.value ? (session.value?.token ?? '') : '$TOKEN';
    return `curl -H "Authorization: Bearer ${token}" '${baseUrl}${NEW_LEADS_PATH}?since=${since}&limit=1'`;
  };
  return (
    <p class="copy-bar">
      <CopyButton text={() => JSON.stringify(lead, null, 2)}>Copy JSON</CopyButton>
      <CopyButton text={curl}>Copy curl</CopyButton>
      <label>
        <input
          type="checkbox"
          checked={withToken.value}
          onChange={({ currentTarget }) => {
            withToken.value = currentTarget.checked;
          }}
        />{' '}
        with the token
      </label>
    </p>
  );
}
