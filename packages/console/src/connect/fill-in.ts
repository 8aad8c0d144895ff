/** The addresses that the files have for examples. */
const EXAMPLES = /https:\/\/leads\.example\.com|http:\/\/127\.0\.0\.1:3000/g;

/** Puts the address of this service into a file, where it has an example. */
export function fillIn(name: string, text: string, baseUrl: string): string {
  const filled = text.replace(EXAMPLES, () => baseUrl);
  if (!name.endsWith('.swagger.json')) return filled;
  // OpenAPI 2.0 has the address in three parts.
  const { host, pathname, protocol } = new URL(baseUrl);
  const address = { host, basePath: pathname, schemes: [protocol.replace(':', '')] };
  return `${JSON.stringify({ ...(JSON.parse(filled) as object), ...address }, null, 2)}\n`;
}
