/** Plays one session of one client through a gateway to one upstream. */
import { recordOf } from '../../../dataplane/json/values.ts'
import { aKey } from '../../helpers/a-key.ts'
import { startFront } from '../../helpers/fake-upstream.ts'
import { until } from '../../helpers/until.ts'
import { type Between, startBetween } from './between.ts'
import type { SessionRow } from './rows.ts'
import { type Scripted, startScripted } from './scripted.ts'
import type { Shown } from './stage.ts'
import type { Column } from './upstreams.ts'
import { makeWorkspace } from './workspace.ts'

export interface Played {
  readonly row: SessionRow
  readonly root: string
  readonly scripted: Omit<Scripted, 'upstream'>
  readonly between: Pick<Between, 'passed'>
  readonly shown: Shown
  readonly edited: boolean
  readonly ran: boolean
  readonly log: readonly Readonly<Record<string, unknown>>[]
}

const ROUTE = 'served'

export async function play(row: SessionRow, column: Column): Promise<Played> {
  const workspace = makeWorkspace()
  const scripted = await startScripted(column, row.script, workspace.root)
  const { key, record } = aKey({ id: 'agent', tenant: 'agent' })
  const front = await startFront({
    upstreams: [
      { name: 'model', native: undefined, ...column.settings, endpoint: scripted.upstream.url },
    ],
    routes: [{ name: ROUTE, strategy: 'single', primary: 'model' }],
    // Agents derive the abilities of some models from their names.
    aliases: { 'claude-*': ROUTE, 'gpt-*': ROUTE },
    api_keys: [record],
  })
  const between = await startBetween(front.process.url)
  const log = () => front.logged('request').map(recordOf)
  try {
    const stage = {
      url: between.url,
      key,
      workspace,
      endless: () => until('the endless text arrives', () => scripted.endless.begun, 60),
    }
    const shown = await row.play(stage)
    const isLogged = () => log().some(({ status }) => status === 499)
    if (scripted.endless.begun) await until('it is logged', isLogged, 5).catch(() => {})
    const [edited, ran] = [workspace.edited(), workspace.ran()]
    return { row, root: workspace.root, scripted, between, shown, edited, ran, log: log() }
  } finally {
    await front.process.stop()
    await between.close()
    await scripted.upstream.close()
    workspace.remove()
  }
}
