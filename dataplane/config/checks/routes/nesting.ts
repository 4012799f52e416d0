/** Routes as members of routes: no circle, and nothing that only the inner route would apply. */

import { nestedRoute } from '../../../schema/constants.ts'
import type { RouteSection, Section } from '../../../schema/index.ts'
import { type Finding, refuse } from '../../judgement/problems.ts'
import { membersOf, routesIn } from '../../routes/members.ts'
import { at, type Check, listed, quoted } from '../contract.ts'

const routesMakeNoCircle: Check = ({ routes }) =>
  routes.flatMap((route, index) => {
    const circle = circleFrom(route, routes, [route.name])
    // Each circle is reported once, at its first route in the file.
    const first = routes.find(({ name }) => circle?.includes(name))
    if (circle === undefined || first !== route) return []
    const message = `leads back to itself: ${circle.join(' > ')}`
    return [refuse(at('routes', index), message, 'Remove one of these routes from its members.')]
  })

/** The way back to the first route of `path`. */
function circleFrom(
  route: RouteSection,
  routes: readonly RouteSection[],
  path: readonly string[],
): string[] | undefined {
  for (const inner of routesIn(route, routes)) {
    if (inner.name === path[0]) return [...path, inner.name]
    if (path.includes(inner.name)) continue
    const found = circleFrom(inner, routes, [...path, inner.name])
    if (found !== undefined) return found
  }
  return undefined
}

/** A guardrail that a nested route skips in silence would be a hole. */
const innerRoutesApplyNothing: Check = (section) =>
  section.routes.flatMap((route, index) =>
    routesIn(route, section.routes).flatMap((inner) => judged(route, index, inner)),
  )

function judged(route: RouteSection, index: number, inner: RouteSection): Finding[] {
  const path = at('routes', index)
  const found: Finding[] = []
  for (const field of ['guardrails', 'retrieval'] as const) {
    const missing = inner[field].filter((name) => !route[field].includes(name))
    if (missing.length === 0) continue
    const message = `skips ${field} of route ${quoted(inner.name)}: ${listed(missing)}`
    found.push(refuse(path, message, `Add ${field} here too, or name the upstreams themselves.`))
  }
  if (inner.semantic?.embedding !== undefined) {
    const whose = `cannot use the classifier of route ${quoted(inner.name)}`
    const message = `${whose}: vectors are made only for the route that a client names`
    found.push(refuse(path, message, 'Use classifier: builtin there, or name the upstreams.'))
  }
  return found
}

/** More than these make a request slow to plan, and hard to explain. */
const DEPTH_MAX = 8

const nestingIsBounded: Check = (section) =>
  section.routes.flatMap((route, index) => {
    if (!membersOf(route).some((member) => nestedRoute(member))) return []
    if (depthOf(route, section, 1) <= DEPTH_MAX) return []
    const message = `has more than ${DEPTH_MAX} routes one within the other`
    return [refuse(at('routes', index), message, 'Name upstreams in place of routes.')]
  })

function depthOf(route: RouteSection, section: Section, depth: number): number {
  if (depth > DEPTH_MAX) return depth
  const inner = routesIn(route, section.routes)
  return Math.max(depth, ...inner.map((one) => depthOf(one, section, depth + 1)))
}

export const nestingChecks = [routesMakeNoCircle, innerRoutesApplyNothing, nestingIsBounded]
