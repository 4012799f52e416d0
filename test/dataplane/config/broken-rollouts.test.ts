/** Rollouts and shadows that cannot take effect, or that would touch other requests. */
import { type Row, testRefusals } from './documents.ts'

function route(fields: string, more = ''): string {
  return `  routes:\n    - name: r\n      strategy: single\n      primary: a\n      ${fields}\n${more}`
}

const ROWS: Row[] = [
  {
    name: 'a rollout to a member of the route',
    yaml: route('rollout: {to: a} # here'),
    path: 'gw.routes[0].rollout.to',
    says: 'upstream "a" is a member of the route already',
    fix: 'name another upstream',
  },
  {
    name: 'a rollout to nothing',
    yaml: route('rollout: {to: zzz} # here'),
    path: 'gw.routes[0].rollout.to',
    says: 'unknown upstream "zzz"',
    fix: 'Use one of',
  },
  {
    name: 'steps that do not grow',
    yaml: route('rollout: {to: b, steps: [5, 5]} # here'),
    path: 'gw.routes[0].rollout.steps[1]',
    says: 'step 5 does not follow 5',
    fix: 'larger',
  },
  {
    name: 'a margin that is no percentage',
    yaml: route('rollout: {to: b, back_on: {errors: much}} # here'),
    path: 'gw.routes[0].rollout.back_on.errors',
    says: 'must be a percentage such as "+5 %"',
    fix: '',
  },
  {
    name: 'a margin of costs without prices',
    yaml: route('rollout: {to: b, back_on: {cost: "+30 %"}} # here'),
    path: 'gw.routes[0].rollout.back_on.cost',
    says: 'cannot take effect: no price for',
    fix: 'Add the models to pricing',
  },
  {
    name: 'a shadow that serves the route',
    yaml: route('shadow: {upstream: a, tenant: eval} # here'),
    path: 'gw.routes[0].shadow.upstream',
    says: 'upstream "a" serves the requests of the route',
    fix: 'that the route does not use',
  },
  {
    name: 'a shadow at the new upstream of a rollout',
    yaml: route('rollout: {to: b}\n      shadow: {upstream: b, tenant: eval} # here'),
    path: 'gw.routes[0].shadow.upstream',
    says: 'upstream "b" serves the requests of the route',
    fix: 'that the route does not use',
  },
]

testRefusals(ROWS)
