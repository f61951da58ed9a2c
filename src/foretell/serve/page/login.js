// The form works without this script too; with it, a refusal or a server that does not answer is reported in place.
const form = document.getElementById("sign-in");
const field = document.getElementById("token");
const refusal = document.getElementById("refusal");

const WRONG =
  "This is not the token of this server. It stands in the --token-file, or in FORETELL_TOKEN, of foretell serve.";

function refuse(message) {
  refusal.textContent = message;
  field.setAttribute("aria-invalid", "true");
  field.focus();
  field.select();
}

const isRefusal = (address) => new URL(address, location.href).searchParams.has("wrong");

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  refusal.textContent = "";
  field.removeAttribute("aria-invalid");
  const body = new URLSearchParams({ token: field.value.trim() });
  try {
    const response = await fetch("/login", { method: "POST", body, cache: "no-store" });
    if (isRefusal(response.url)) refuse(WRONG);
    else if (response.ok) location.replace(`/${location.hash}`);
    else refuse(`The server answered ${response.status} ${response.statusText}. Try again in a moment.`);
  } catch {
    refuse("The server does not answer. Check that foretell serve is running, then try again.");
  }
});

if (isRefusal(location.href)) refuse(WRONG);
