// Runs before the first paint, so that a chosen theme never flashes in the other.
try {
    const chosen = JSON.parse(localStorage.getItem("mako.theme"));
    if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
} catch { /* Storage may be forbidden: the theme of the system stays. */ }
