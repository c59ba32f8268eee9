// A browser lets no page that is read from a disk load the index of the search.
if (location.protocol === "file:") {
  document.querySelectorAll(".md-search, label[for=__search]").forEach(one => one.remove())
}
