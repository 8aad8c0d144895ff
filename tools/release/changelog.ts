/** The part of CHANGELOG.md below the heading of a version; undefined if there is no dated heading. */
export function changelogSection(changelog: string, version: string): string | undefined {
  const heading = `[${version}] - `;
  const section = changelog.split(/^## /m).find((text) => text.startsWith(heading));
  const [, text] = /^\d{4}-\d{2}-\d{2}\n(.*)$/s.exec(section?.slice(heading.length) ?? '') ?? [];
  return text?.trim();
}

export const hasUnreleasedChanges = (changelog: string): boolean =>
  /^## \[Unreleased\]\n+(?!## |$)/m.test(changelog);

/** GitHub resolves the links of release notes against the page of the release, where the files are not. */
export function releaseNotes(changelog: string, version: string, repository?: string): string {
  const section = changelogSection(changelog, version) ?? '';
  if (repository === undefined) return section;
  const files = `${repository}/blob/v${version}/`;
  return section.replaceAll('](#', `](${files}CHANGELOG.md#`).replace(/\]\((?![a-z]+:)/g, `](${files}`);
}
