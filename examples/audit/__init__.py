"""Black boxes to audit."""
