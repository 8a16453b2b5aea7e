import { useKnown } from "../shell/use";

/** What another login of the person is called; none when it is this one, or not known. */
export function useOther(device: string | null | undefined): string | undefined {
  const own = useKnown(({ device }) => device);
  return device == null || own === undefined || device === own ? undefined : device;
}
