"""One function a chart, from the numbers of the other rooms."""
