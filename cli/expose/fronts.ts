/** The names of what may stand in front of a gateway. Apart, so that the help loads nothing else. */
export const FRONTS = ['istio', 'envoy-gateway', 'alb', 'gke', 'agc', 'nginx', 'openshift'] as const

export type Front = (typeof FRONTS)[number]
