/** How many random cases a test tries: enough for every run, and all of them where a run may take its time. */
export function cases(everyRun: number, atLength: number): number {
  return process.env.GW_LONG ? atLength : everyRun
}
