/** The idle amounts in the slices of a gateway, by its metrics of the last second. */
import type { Front } from '../../helpers/fake-upstream.ts'
import { until } from '../../helpers/until.ts'

export interface Room {
  readonly requests: number
  readonly slots: number
}

/** Asks until the slices of all gateways have room for these requests and slots. */
export async function untilCovered(
  fronts: readonly Front[],
  room: Room,
  ask: () => Promise<unknown>,
): Promise<void> {
  await until('slices cover what comes', async () => {
    await ask()
    const covered = await Promise.all(fronts.map((front) => covers(front, room)))
    return covered.every((one) => one)
  })
}

async function covers(front: Front, { requests, slots }: Room): Promise<boolean> {
  const series = await front.series()
  const idle = (kind: string) => series.get(`gw_store_slices{kind="${kind}"}`) ?? 0
  return (
    idle('requests') >= requests &&
    idle('slots') >= slots &&
    series.get('gw_store_up{backend="redis"}') === 1
  )
}
