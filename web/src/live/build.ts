// Which build the page is of, and whether the server has another.

/** As the build wrote it into the page; none while the page is being developed. */
function ownBuild(): string | undefined {
  const mark = document.querySelector<HTMLMetaElement>('meta[name="build"]');
  return mark?.content;
}

export function isOther(served: string, own: string | undefined = ownBuild()): boolean {
  return own !== undefined && own !== "" && served !== own;
}
