/** `gw rollout` and `gw shadow`: how a new upstream takes over a route, and how its answers to copies differ. */
import { Command } from 'commander'
import { bareName } from '../asking/bare-name.ts'
import { addPlace, askedPlace, type PlaceOptions, placeOf } from '../asking/place.ts'
import { type Format, formatOption, printData } from '../printing/formats.ts'
import { endUsageWith64, printLine } from '../printing/output.ts'

interface StatusOptions extends PlaceOptions {
  readonly route?: string
  readonly output: Format
}

interface ActionOptions extends PlaceOptions {
  readonly route: string
  readonly output: Format
}

const ACTIONS = {
  pause: 'Hold the present share; the rollout still goes back if the new upstream is worse.',
  resume: 'Step on after a pause; after an abort or a way back, begin again with the first step.',
  promote: 'Give all requests of the route to the new upstream now.',
  abort: 'Give the new upstream no more requests.',
}

const actions = Object.entries(ACTIONS).map(([action, description]) =>
  bareName(
    addPlace(
      new Command(action).description(description).requiredOption('--route <name>', 'the route'),
    ).addOption(formatOption()),
    '--route',
    (options: ActionOptions, command: Command) => act(action, options, command),
  ),
)

const status = bareName(
  addPlace(
    new Command('status')
      .description('Show the phase, the share and the comparison of each rollout.')
      .option('--route <name>', 'only this one'),
  ).addOption(formatOption()),
  '--route',
  showRollouts,
)

export const rollout = endUsageWith64(
  actions.reduce(
    (all, action) => all.addCommand(action),
    new Command('rollout')
      .description('Follow and steer the rollouts of new upstreams.')
      .addCommand(status),
  ),
)

const shadowStatus = bareName(
  addPlace(
    new Command('status')
      .description(
        'Show what became of copies of requests, and how their answers differ; -o json has the last ones.',
      )
      .option('--route <name>', 'only this one'),
  ).addOption(formatOption()),
  '--route',
  showShadows,
)

export const shadow = endUsageWith64(
  new Command('shadow')
    .description('Compare the answers of a route with those of its shadow.')
    .addCommand(shadowStatus),
)

async function act(action: string, options: ActionOptions, command: Command): Promise<void> {
  const { actOnRollout } = await import('../status/rollouts.ts')
  const rollouts = await actOnRollout(await placeOf(options, command), options.route, action)
  await printData(options.output, {
    value: { rollouts },
    names: rollouts.map(({ route }) => route),
    print: () =>
      rollouts.forEach(({ route, to, phase, share }) => {
        printLine(`${route}: ${phase}, ${share}% to ${to}`)
      }),
  })
}

async function showRollouts(options: StatusOptions, command: Command): Promise<void> {
  const { askRollouts, printRollouts } = await import('../status/rollouts.ts')
  const all = await askRollouts(await askedPlace(options, command))
  const rollouts = all.filter(({ route }) => (options.route ?? route) === route)
  await printData(options.output, {
    value: { rollouts },
    names: rollouts.map(({ route }) => route),
    print: () => printRollouts(rollouts),
  })
}

async function showShadows(options: StatusOptions, command: Command): Promise<void> {
  const { askShadows, printShadows } = await import('../status/rollouts.ts')
  const all = await askShadows(await askedPlace(options, command))
  const shadows = all.filter(({ route }) => (options.route ?? route) === route)
  await printData(options.output, {
    value: { shadows },
    names: shadows.map(({ route }) => route),
    print: () => printShadows(shadows),
  })
}
