/** The number of random cases of a test: enough for every run, and all of them if a run may take its time. */
export function cases(everyRun: number, atLength: number): number {
  return process.env.GW_LONG ? atLength : everyRun
}
