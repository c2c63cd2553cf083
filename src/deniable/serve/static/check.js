export function startChecking() {}
