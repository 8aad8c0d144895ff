export type HeaderTexts = Readonly<
  Record<string, { readonly spelling: string; readonly description: string }>
>;

const FROM_A_PROXY = 'Not a header of Leadtap: a proxy in front of it has added it.';

export interface ExplainedHeader {
  readonly name: string;
  readonly value: string;
  readonly description: string;
}

/** All headers of a response, each with what it means, once that is loaded: those of the contract first, those of proxies last. */
export function explainHeaders(headers: Headers, texts: HeaderTexts | undefined): ExplainedHeader[] {
  const order = Object.keys(texts ?? {});
  const rank = (name: string): number => (order.includes(name) ? order.indexOf(name) : order.length);
  return [...headers]
    .sort(([one], [other]) => rank(one) - rank(other))
    .map(([name, value]) => {
      const known = texts?.[name];
      return {
        name: known?.spelling ?? name,
        value,
        description: texts ? (known?.description ?? FROM_A_PROXY) : '',
      };
    });
}
