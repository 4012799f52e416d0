/** Open faults that random conversations show, by kind; the fakes let such requests pass. A fix removes its lines. */
export const KNOWN: Readonly<Record<string, string>> = {}
