/**
 * Faults that random conversations show and that are not mended yet, by kind; the fakes let such requests pass. A mend
 * takes its lines out.
 */
export const KNOWN: Readonly<Record<string, string>> = {}
